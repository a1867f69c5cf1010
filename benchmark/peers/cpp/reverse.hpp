// Rollout and its adjoint, block of columns by block.
// x0 [NX][B], theta [D][B], targets [H][NY][B].
extern "C" void run(long batch, long steps, const double *x0, const double *theta,
                    const double *targets, double *loss, double *gradient, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
  for (long b = 0; b < batch; b += kLanes) {
    V states[(kMostSteps + 1) * NX], p[D], gp[D], seen[NY], adjoint[NX], g[NX], l = fill(0);
    for (int i = 0; i < NX; i++) states[i] = load(x0 + i * batch + b);
    for (int i = 0; i < D; i++) {
      p[i] = load(theta + i * batch + b);
      gp[i] = fill(0);
    }
    for (long t = 0; t < steps; t++) step(states + t * NX, p, states + (t + 1) * NX);
    for (int i = 0; i < NX; i++) adjoint[i] = fill(0);
    for (long t = steps; t > 0; t--) {
      for (int i = 0; i < NY; i++) seen[i] = load(targets + ((t - 1) * NY + i) * batch + b);
      loss_slope(states + t * NX, seen, l, g);
      for (int i = 0; i < NQ; i++) adjoint[i] += g[i];
      step_back(states + (t - 1) * NX, p, adjoint, g, gp);
      for (int i = 0; i < NX; i++) adjoint[i] = g[i];
    }
    store(loss + b, l);
    for (int i = 0; i < D; i++) store(gradient + i * batch + b, gp[i]);
  }
}
