// Which elements of a tile are there (from_tile_impl.h): conditions `f >= 0` on forms.
#include "loop/from_tile_impl.h"

namespace tang::loop {

// Whether f >= 0 wherever the threads and the open loops that it mentions are.
bool TileLowering::always(const Form& f) const {
  for (const Form::Term& t : f.terms)
    if (!extents_.contains(t.dim)) return false;
  const auto r = range(f, [&](DimId d) { return Poly(extents_.at(d)); });
  return r && r->lo.is_constant() && *r->lo.constant() >= 0;
}

// f >= 0 for forms that are the same for all elements: what a form subtracts stands on the left.
// `read` gives what it gathers.
Value TileLowering::holds(const Form& f, const std::function<Value(uint32_t)>& read) {
  Form left, right = f;
  std::erase_if(right.terms, [&](const Form::Term& t) {
    const auto c = t.coeff.constant();
    if (c && *c < 0) left.terms.push_back({t.dim, Poly(0) - t.coeff});
    return c && *c < 0;
  });
  std::erase_if(right.gathers, [&](const Form::Gather& x) {
    const auto c = x.coeff.constant();
    if (c && *c < 0) left.gathers.push_back({x.leaf, Poly(0) - x.coeff});
    return c && *c < 0;
  });
  if (const auto c = right.base.constant(); c && *c < 0 && *c != INT64_MIN) {
    left.base = Poly(-*c);
    right.base = Poly(0);
  }
  const auto side = [&](Form& x) {
    const std::vector<Form::Gather> gathers = std::move(x.gathers);
    x.gathers.clear();
    Value sum = form(x);
    for (const Form::Gather& g : gathers)
      sum = b.add(sum, b.mul(b.poly(g.coeff), b.cast(Type::i64, read(g.leaf))));
    return sum;
  };
  const Value a = side(left);
  return b.le(a, side(right));
}

// The conditions together, in one name that an open block may have already. None: they hold.
std::optional<Value> TileLowering::all_hold(std::vector<Form> forms,
                                            const std::function<Value(uint32_t)>& read) {
  std::erase_if(forms, [&](const Form& f) { return always(f); });
  if (forms.empty()) return std::nullopt;
  for (const auto& [known, name] : conditions_)
    if (known == forms) return name;
  std::optional<Value> all;
  bool affine = true;
  for (const Form& f : forms) {
    const Value one = holds(f, read);
    all = all ? b.logical_and(*all, one) : one;
    affine = affine && f.is_affine();
  }
  all = b.let("inside", *all);
  if (affine) conditions_.emplace_back(std::move(forms), *all);
  return all;
}

TileLowering::Valid TileLowering::valid(const std::vector<Form>& forms,
                                        const tile::NamedPlacement& at_, size_t r, int lanes) {
  Valid v;
  std::vector<Form> alike;  // what holds for all elements or for none
  const auto read = [&](uint32_t leaf) { return gathered(leaf, at_, r); };
  for (const Form& f : forms) {
    Form here = f;
    here.gathers.clear();
    here = placed(here, at_, r);
    const auto step = step_of(f, at_).constant();
    if (f.is_affine() && step && always(here + Form(std::min<int64_t>(0, *step * (lanes - 1)))))
      continue;
    bool scalar = true;
    for (const Form::Gather& x : f.gathers) scalar = scalar && b.lanes(read(x.leaf)) == 1;
    const bool whole =
        f.is_affine() && step == -1 && threads_ > 1 && multiple(here + Form(1)) % lanes == 0;
    if (scalar && (lanes == 1 || step == 0 || whole)) {
      here.gathers = f.gathers;
      alike.push_back(here);
      continue;
    }
    Value base = form(here);
    for (const Form::Gather& x : f.gathers)
      base = b.add(base, b.mul(b.poly(x.coeff), b.cast(Type::i64, read(x.leaf))));
    if (scalar && step == -1) {
      const Value count = b.add(base, b.integer(1));
      v.first = v.first ? b.min(*v.first, count) : count;
    } else {
      v.others.emplace_back(b.let("inside", base), step.value_or(0));
      if (!step) fail("a condition whose stride is no constant");
    }
  }
  v.all = all_hold(std::move(alike), read);
  if (v.first) v.first = b.let("count", *v.first);
  return v;
}

// Whether element e is there.
Value TileLowering::holds(const Valid& v, int64_t e) {
  Value all = v.all ? *v.all : b.boolean(true);
  bool any = v.all.has_value();
  const auto also = [&](Value one) {
    all = any ? b.logical_and(all, one) : one;
    any = true;
  };
  if (v.first) also(b.lt(b.integer(e), *v.first));
  for (const auto& [base, step] : v.others)
    also(b.le(b.integer(0), b.lanes(base) > 1 ? b.add(b.lane(base, e), b.integer(step * e))
                                              : b.add(base, b.integer(step * e))));
  return all;
}

// How many elements are there, from the first on.
Value TileLowering::count(const Valid& v, int lanes) {
  const Value all = v.first ? *v.first : b.integer(lanes);
  return v.all ? b.select(*v.all, all, b.integer(0)) : all;
}

}  // namespace tang::loop
