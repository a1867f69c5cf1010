// SIMD vectors of doubles by the extensions of g++, and what the traced kernels call on them.
#pragma once

#include <omp.h>

#include <cmath>
#include <cstring>

constexpr int kLanes = 8, kMostSteps = 127;
typedef double V __attribute__((vector_size(kLanes * sizeof(double)), aligned(sizeof(double))));

static inline V fill(double x) { return V{} + x; }

static inline V load(const double *p) {
  V v;
  memcpy(&v, p, sizeof(V));
  return v;
}

static inline void store(double *p, V v) { memcpy(p, &v, sizeof(V)); }

// Quotient and remainder by pi/2 (two-part reduction), then double-accurate polynomials.
static inline void sin_cos(V x, V &s, V &c) {
  V k = x * fill(0.63661977236758134308);
  for (int i = 0; i < kLanes; i++) k[i] = __builtin_nearbyint(k[i]);
  V r = x - k * fill(1.57079632679489655800);
  r = r - k * fill(6.12323399573676603587e-17);
  const V z = r * r;
  const V ps = ((((((fill(1.6059043836821613e-10) * z - fill(2.5052108385441720e-08)) * z +
                    fill(2.7557319223985893e-06)) * z - fill(1.9841269841269841e-04)) * z +
                  fill(8.3333333333333332e-03)) * z - fill(1.6666666666666666e-01)) * z * r) + r;
  const V pc = ((((((-fill(1.1470745597729725e-11) * z + fill(2.0876756987868100e-09)) * z -
                    fill(2.7557319223985888e-07)) * z + fill(2.4801587301587302e-05)) * z -
                  fill(1.3888888888888889e-03)) * z + fill(4.1666666666666664e-02)) * z * z) -
               fill(0.5) * z + fill(1.0);
  V turns = k * fill(0.25);
  for (int i = 0; i < kLanes; i++) turns[i] = __builtin_floor(turns[i]);
  const V quarter = k - fill(4.0) * turns;
  const auto swapped = (quarter == fill(1.0)) | (quarter == fill(3.0));
  const V ss = swapped ? pc : ps, cc = swapped ? ps : pc;
  s = (quarter >= fill(2.0)) ? -ss : ss;
  c = ((quarter == fill(1.0)) | (quarter == fill(2.0))) ? -cc : cc;
}

static inline V sin_(V x) {
  V s, c;
  sin_cos(x, s, c);
  return s;
}

static inline V cos_(V x) {
  V s, c;
  sin_cos(x, s, c);
  return c;
}

static inline V clip_between(V r, V bound) {
  r = r > bound ? bound : r;
  return r < -bound ? -bound : r;
}

#define clip_(r) clip_between(r, fill(DELTA))

static inline V huber_of(V r, V clipped) { return clipped * (r - fill(0.5) * clipped); }

#define huber_(r) huber_of(r, clip_(r))

extern "C" int vector_width() { return kLanes; }
extern "C" int most_steps() { return kMostSteps; }
