// The programs of language.md, for tests: 1 (attention), 1.8 in order, and the printed form of 1.9.
#pragma once

namespace tang::programs {

struct Program {
  const char* name;
  const char* text;
};

inline constexpr Program kAll[] = {
    {"attention", R"tang(# attention.tang: nothing here says "flash"
param seq                                   # symbolic size; bound by -D seq=512 or by an input's shape
dim h = 8, i = seq, j = seq, d = 64, e = 64 # index names and their extents

input q[h, i, d], k[h, j, d], v[h, j, e] : f32

s[h, i, j] = sum[d](q[h, i, d] * k[h, j, d]) / sqrt(64)
p[h, i, j] = exp(s[h, i, j] - max[j](s[h, i, j]))
o[h, i, e] = sum[j](p[h, i, j] * v[h, j, e]) / sum[j](p[h, i, j])

output o
)tang"},
    {"gqa_rotary", R"tang(param seq
dim kv = 8, g = 4, i = seq, j = seq, u = 2, r = 64, e = 128
input q[kv, g, i, u, r], k[kv, j, u, r], v[kv, j, e] : bf16
fn angle(t, r) = t * exp(-r / 64 * log(10_000))
fn turn[u](a, b, th) = select(u == 0, a * cos(th) - b * sin(th), a * sin(th) + b * cos(th))
fn softmax[j](x) = exp(x - max[j](x)) / sum[j](exp(x - max[j](x)))
qr[kv, g, i, u, r] = turn[u](q[kv, g, i, 0, r], q[kv, g, i, 1, r], angle(i, r))
kr[kv, j, u, r] = turn[u](k[kv, j, 0, r], k[kv, j, 1, r], angle(j, r))
s[kv, g, i, j] = sum[u, r](qr[kv, g, i, u, r] * kr[kv, j, u, r]) / sqrt(128)
o[kv, g, i, e] : bf16 = sum[j](softmax[j](select(j <= i, s[kv, g, i, j], -inf)) * v[kv, j, e])
output o
)tang"},
    {"training_step", R"tang(param batch
dim n = batch, c = 64, f = 10
input x[n, c], w[f, c], b[f] : f32, y[n] : i32, lr : f32
z[n, f] = sum[c](x[n, c] * w[f, c]) + b[f]
loss = mean[n](logsumexp[f](z[n, f]) - z[n, y[n]])
grad loss -> dw: w, db: b
w2[f, c] = w[f, c] - lr * dw[f, c]
b2[f] = b[f] - lr * db[f]
output loss, w2 into w, b2 into b
)tang"},
    {"layernorm_swiglu", R"tang(param tokens
dim t = tokens, c = 1024, f = 2816
input x[t, c] : f16, gain[c], bias[c] : f32, wg[f, c], wu[f, c], wd[c, f] : q8_0
y[t, c] : f16 = (x[t, c] - mean[c](x[t, c])) * rsqrt(var[c](x[t, c]) + 1e-5) * gain[c] + bias[c]
a[t, f] : f16 = silu(sum[c](y[t, c] * wg[f, c])) * sum[c](y[t, c] * wu[f, c])
o[t, c] : f16 = x[t, c] + sum[f](a[t, f] * wd[c, f])
output o
)tang"},
    {"adain", R"tang(dim c = 64, p = 128, q = 128
input x[c, p, q], scale[c], shift[c] : f32
monoid welford(n, mean, m2)
  identity (0, 0, 0)
  lift(x) = (1, x, 0)
  combine(a, b) = (a.n + b.n,
    a.mean + (b.mean - a.mean) * select(0 < a.n + b.n, b.n / (a.n + b.n), 0),
    a.m2 + b.m2 + (b.mean - a.mean) * ((b.mean - a.mean)
      * select(0 < a.n + b.n, a.n * b.n / (a.n + b.n), 0)))
  commutative
(n[c], mu[c], m2[c]) = welford[p, q](x[c, p, q])
y[c, p, q] = scale[c] * (x[c, p, q] - mu[c]) * rsqrt(m2[c] / n[c] + 1e-5) + shift[c]
output y
)tang"},
    {"convolution", R"tang(param ih, oh = (ih + 2 - 3) / 2 + 1
dim n = 8, k = 64, c = 32, p = oh, q = oh, r = 3, s = 3, p2 = 2*oh, q2 = 2*oh
input x[n, c, ih, ih], w[k, c, r, s], wt[k, c, r, s] : f16
y[n, k, p, q] = sum[c, r, s](x?[n, c, 2*p + r - 1, 2*q + s - 1] * w[k, c, r, s])
z[n, k, p, q] = sum[c, r, s](x?[n, c, p + 2*r - 2, q + 2*s - 2] * w[k, c, r, s])
m[n, k, p, q] = max[r, s](y?[n, k, p + r - 1, q + s - 1])
up[n, c, p2, q2] = sum[k, p, q, r, s | 2*p + r - 1 == p2 and 2*q + s - 1 == q2](y[n, k, p, q] * wt[k, c, r, s])
output m, z, up
)tang"},
    {"experts", R"tang(param tokens
dim t = tokens, x = 128, n = 8, c = 2048, f = 768
input h[t, c], wr[x, c], wg[x, f, c], wu[x, f, c], wd[x, c, f] : bf16
(w[t, n], e[t, n]) = topk[x; n](sum[c](h[t, c] * wr[x, c]))
p[t, n] = exp(w[t, n] - max[n](w[t, n])) / sum[n](exp(w[t, n] - max[n](w[t, n])))
a[t, n, f] = silu(sum[c](h[t, c] * wg[e[t, n], f, c])) * sum[c](h[t, c] * wu[e[t, n], f, c])
y[t, c] : bf16 = sum[n, f](p[t, n] * a[t, n, f] * wd[e[t, n], c, f])
output y
)tang"},
    {"paged_attention", R"tang(param batch, pages, blocks
dim b = batch, n = blocks, t = 16, kv = 8, g = 4, d = 128, e = 128
input q[b, kv, g, d], kc[pages, t, kv, d], vc[pages, t, kv, e] : bf16, page[b, n], len[b] : i32
s[b, kv, g, n, t] = sum[d](q[b, kv, g, d] * kc?[page[b, n], t, kv, d]) / sqrt(128)
m[b, kv, g] = max[n, t | 16*n + t < len[b]](s[b, kv, g, n, t])
w[b, kv, g, n, t] = exp(s[b, kv, g, n, t] - m[b, kv, g])
o[b, kv, g, e] = sum[n, t | 16*n + t < len[b]](w[b, kv, g, n, t] * vc?[page[b, n], t, kv, e])
  / sum[n, t | 16*n + t < len[b]](w[b, kv, g, n, t])
output o
)tang"},
    {"embedding", R"tang(param vocab, slots, na, nb
dim v = vocab, s = slots, h = 8, c = 64, n = na + nb, g = 32
input emb[v, h, c], kc[s, h, c] : bf16, tok, pos : i32, xa[na, c], xb[nb, c] : f32, seg[n] : i32
kc2[s, h, c] = select(s == pos, emb[tok, h, c], kc[s, h, c])
x[n, c] = select(n < na, xa?[n, c], xb?[n - na, c])
sorted seg
y[g, c] = sum[n | seg[n] == g](x[n, c])
output kc2 into kc, y
)tang"},
    {"recurrence", R"tang(param seq
dim t = seq, c = 512, x = 128, y = 128, z = 128
input f[t, c], u[t, c], h0[c], k[t, x], q[t, x], v[t, z], al[t], be[t], s0[x, z] : f32
h[t, c] = scan[t](sigmoid(f[t, c]), u[t, c], h0[c])
st[t, x, z] = matscan[t; x, y](
  al[t] * (select(x == y, 1, 0) - be[t] * k[t, x] * k[t, y]), be[t] * k[t, x] * v[t, z], s0[x, z])
o[t, z] = sum[x](st[t, x, z] * q[t, x])
output h, o
)tang"},
    {"policy", R"tang(dim i = 48, a = 256, b = 128, m = 12
input obs[i], w1[a, i], b1[a], w2[b, a], b2[b], w3[m, b], b3[m] : f32
x1[a] = tanh(sum[i](w1[a, i] * obs[i]) + b1[a])
x2[b] = tanh(sum[a](w2[b, a] * x1[a]) + b2[b])
act[m] = sum[b](w3[m, b] * x2[b]) + b3[m]
output act
)tang"},
    {"printed_form", R"tang(param seq
dim h = 8, i = seq, j = seq, d = 64, e = 64, c = 512, f = 1376
input q[h, i, d]
input k[h, j, d]
input v[h, j, e]
input x[i, c] : f16
input wg[f, c] : f16
input wu[f, c] : f16
s_1[h, i, j] = sum[d](q[h, i, d] * k[h, j, d])
(m[h, i], l[h, i], o[h, i, e]) = (m, l, o * select(l < 0.5, 0, recip(l)))
  where (m, l, o) = online[j | j <= i](s_1[h, i, j] * 0.125, v[h, j, e])
y[i, f] : f16 = silu(a) * b
  where (a, b) = (sum[c](x[i, c] * wg[f, c]), sum[c](x[i, c] * wu[f, c]))
output m, l, o, y
)tang"},
};

}  // namespace tang::programs
