/* Tensors as DLPack 1.x describes them, for exchange with other libraries without a copy.
 *
 * The structures have DLPack's layout. A program that also uses DLPack's own header includes that
 * one first; then these declarations stand back.
 */
#ifndef TANG_DLPACK_H
#define TANG_DLPACK_H

#include <stdint.h>

/* Flags of a DLManagedTensorVersioned. */
#define TANG_DLPACK_READ_ONLY 1u /* what it points to is not written */
#define TANG_DLPACK_COPIED 2u    /* the producer made a copy */
#define TANG_DLPACK_PADDED 4u    /* elements of less than a byte have a byte each */

#ifndef DLPACK_DLPACK_H_

/* Where memory lies. */
enum { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3, kDLCUDAManaged = 13 };

/* Codes of element types. */
enum {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLBfloat = 4,
  kDLBool = 6,
  kDLFloat8_e4m3fn = 10,
  kDLFloat8_e5m2 = 12
};

typedef struct {
  uint32_t major; /* structures of one major version have one layout */
  uint32_t minor;
} DLPackVersion;

typedef struct {
  int32_t device_type;
  int32_t device_id;
} DLDevice;

typedef struct {
  uint8_t code;
  uint8_t bits;   /* of one element */
  uint16_t lanes; /* 1: a scalar */
} DLDataType;

typedef struct {
  void* data; /* element [0, …, 0] lies byte_offset bytes after it */
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides; /* in elements; null: row-major */
  uint64_t byte_offset;
} DLTensor;

/* A tensor with its owner. The deleter, which may be null, is called once, by who is done last. */
typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned* self);
  uint64_t flags;
  DLTensor dl_tensor;
} DLManagedTensorVersioned;

/* The same of DLPack before 1.0. */
typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensor* self);
} DLManagedTensor;

#endif /* DLPACK_DLPACK_H_ */

#endif /* TANG_DLPACK_H */
