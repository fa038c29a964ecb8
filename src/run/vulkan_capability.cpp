#include <algorithm>

#include "run/gpu_checks.h"
#include "run/vulkan_context.h"

namespace tang::vk {

namespace {

// Threads of a group that exchange values. A size that varies is fixed, or not used.
void set_subgroup(Abilities& a, const SubgroupProperties& now, const SubgroupSizeProperties& sizes,
                  SubgroupSizeFeatures& wanted) {
  const bool exchanges = (now.stages & stage_compute) && (now.operations & subgroup_basic) &&
                         (now.operations & subgroup_shuffle);
  const bool varies = sizes.min_size != sizes.max_size;
  const bool fixed = wanted.size_control && (sizes.required_size_stages & stage_compute);
  a.full_subgroups = wanted.full_subgroups != 0;
  if (!exchanges || sizes.max_size == 0 || (varies && !fixed)) return;
  a.capability.subgroup = now.size;
  if (varies) a.required_subgroup = now.size;
}

void set_formats(Capability& c, FeatureChain& has) {
  c.f64 = has.features.features.float64;
  c.i64 = has.features.features.int64;
  c.f16 = has.storage16.storage_buffer && has.float16.float16;
  c.narrow_words = has.storage16.storage_buffer && has.storage8.storage_buffer &&
                   has.float16.int8 && has.features.features.int16;
}

// Leaves in the chain what the capability tells of, and nothing else.
void want(FeatureChain& chain, const Abilities& a) {
  const Capability& c = a.capability;
  Features features{};
  features.float64 = c.f64;
  features.int64 = c.i64;
  features.int16 = c.narrow_words;
  chain.features.features = features;
  chain.storage16.storage_buffer = c.f16 || c.narrow_words;
  chain.storage16.uniform_and_storage_buffer = 0;
  chain.storage16.push_constant = 0;
  chain.storage16.input_output = 0;
  chain.storage8.storage_buffer = c.narrow_words;
  chain.storage8.uniform_and_storage_buffer = 0;
  chain.storage8.push_constant = 0;
  chain.float16.float16 = c.f16;
  chain.float16.int8 = c.narrow_words;
  chain.subgroup_types.extended = c.i64 && c.subgroup > 0;
  chain.subgroup_size.size_control = a.required_subgroup != 0;
  chain.subgroup_size.full_subgroups = a.full_subgroups;
}

}  // namespace

FeatureChain::FeatureChain(bool sizes) {
  features.next = &storage16;
  storage16.next = &storage8;
  storage8.next = &float16;
  float16.next = &subgroup_types;
  subgroup_types.next = sizes ? &subgroup_size : nullptr;
}

Abilities abilities_of(const Functions& vk, PhysicalDevice physical, const QueueFamily& family,
                       FeatureChain& wanted) {
  const bool sizes = wanted.subgroup_types.next != nullptr;
  Properties2 properties;
  SubgroupProperties subgroup;
  SubgroupSizeProperties subgroup_sizes;
  properties.next = &subgroup;
  if (sizes) subgroup.next = &subgroup_sizes;
  vk.properties2(physical, &properties);
  vk.features2(physical, &wanted.features);

  Abilities a;
  Capability& c = a.capability;
  const Properties& p = properties.properties;
  c.dialect = Dialect::glsl;
  c.device = p.name;
  c.machine = machine_of(c.device);
  c.threads = std::min(p.limits.max_group_invocations, p.limits.max_group_size[0]);
  c.shared_bytes = p.limits.max_shared_memory_size;
  c.buffers = std::min(p.limits.max_per_stage_storage_buffers, p.limits.max_set_storage_buffers);
  c.binding_bytes = whole(p.limits.max_storage_buffer_range);
  c.groups = p.limits.max_group_count[0];
  set_formats(c, wanted);
  set_subgroup(a, subgroup, subgroup_sizes, wanted.subgroup_size);
  // What is exchanged may have 64 bits; a pair of words can always be.
  if (c.subgroup > 0 && !wanted.subgroup_types.extended) c.i64 = false;
  if (family.timestamp_bits > 0) {
    a.tick_ns = static_cast<double>(p.limits.timestamp_period);
    a.tick_mask =
        family.timestamp_bits >= 64 ? UINT64_MAX : (uint64_t{1} << family.timestamp_bits) - 1;
  }
  want(wanted, a);
  return a;
}

}  // namespace tang::vk
