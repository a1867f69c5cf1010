// Rollout with sensitivities, block of columns by block.
// x0 [NX][B], theta [D][B], targets [H][NY][B].
extern "C" void run(long batch, long steps, const double *x0, const double *theta,
                    const double *targets, double *loss, double *gradient, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
  for (long b = 0; b < batch; b += kLanes) {
    V x[2][NX], dx[2][NX * D], p[D], gp[D], seen[NY], g[NX], l = fill(0);
    for (int i = 0; i < NX; i++) x[0][i] = load(x0 + i * batch + b);
    for (int i = 0; i < NX * D; i++) dx[0][i] = fill(0);
    for (int i = 0; i < D; i++) {
      p[i] = load(theta + i * batch + b);
      gp[i] = fill(0);
    }
    for (long t = 0; t < steps; t++) {
      const int from = t & 1, to = 1 - from;
      step_push(x[from], dx[from], p, x[to], dx[to]);
      for (int i = 0; i < NY; i++) seen[i] = load(targets + (t * NY + i) * batch + b);
      loss_slope(x[to], seen, l, g);
      for (int j = 0; j < D; j++)
        for (int i = 0; i < NQ; i++) gp[j] += g[i] * dx[to][i * D + j];
    }
    store(loss + b, l);
    for (int i = 0; i < D; i++) store(gradient + i * batch + b, gp[i]);
  }
}
