/* SPDX-License-Identifier: Apache-2.0 */
/* Element types: HDF5 describes each in full (class, size, order, mantissa); artel has a dozen names.
 *
 * As h5py: float16 is a custom 16-bit float, bool an enum of FALSE and TRUE over int8, and what numpy cannot name is
 * opaque, which is how bfloat16 arrives.
 */
#include <string.h>

#include "helper.h"

static hid_t half_type(void)
{
    hid_t type = H5Tcopy(H5T_IEEE_F32LE);
    H5Tset_fields(type, 15, 10, 5, 0, 10);
    H5Tset_size(type, 2);
    H5Tset_ebias(type, 15);
    return type;
}

static hid_t bool_type(void)
{
    hid_t type = H5Tenum_create(H5T_STD_I8LE);
    int8_t value = 0;
    H5Tenum_insert(type, "FALSE", &value);
    value = 1;
    H5Tenum_insert(type, "TRUE", &value);
    return type;
}

static hid_t opaque_type(void)
{
    hid_t type = H5Tcreate(H5T_OPAQUE, 2);
    H5Tset_tag(type, "");
    return type;
}

hid_t helper_memory_type(artel_dtype dtype)
{
    switch (dtype) {
    case ARTEL_DTYPE_FLOAT32: return H5T_IEEE_F32LE;
    case ARTEL_DTYPE_FLOAT64: return H5T_IEEE_F64LE;
    case ARTEL_DTYPE_FLOAT16: return half_type();
    case ARTEL_DTYPE_BFLOAT16: return opaque_type();
    case ARTEL_DTYPE_INT8: return H5T_STD_I8LE;
    case ARTEL_DTYPE_INT16: return H5T_STD_I16LE;
    case ARTEL_DTYPE_INT32: return H5T_STD_I32LE;
    case ARTEL_DTYPE_INT64: return H5T_STD_I64LE;
    case ARTEL_DTYPE_UINT8: return H5T_STD_U8LE;
    case ARTEL_DTYPE_UINT16: return H5T_STD_U16LE;
    case ARTEL_DTYPE_UINT32: return H5T_STD_U32LE;
    case ARTEL_DTYPE_UINT64: return H5T_STD_U64LE;
    case ARTEL_DTYPE_BOOL: return bool_type();
    default: return -1;
    }
}

static helper_type classify_integer(hid_t type)
{
    static const artel_dtype with_sign[] = {ARTEL_DTYPE_INT8, ARTEL_DTYPE_INT16, ARTEL_DTYPE_INT32, ARTEL_DTYPE_INT64};
    static const artel_dtype without[] = {ARTEL_DTYPE_UINT8, ARTEL_DTYPE_UINT16, ARTEL_DTYPE_UINT32,
                                          ARTEL_DTYPE_UINT64};
    size_t size = H5Tget_size(type);
    int index = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : -1;
    if (index < 0) return (helper_type){.known = false};
    return (helper_type){.known = true, .dtype = H5Tget_sign(type) == H5T_SGN_2 ? with_sign[index] : without[index]};
}

static helper_type classify_float(hid_t type)
{
    helper_type result = {.known = true};
    switch (H5Tget_size(type)) {
    case 2: result.dtype = ARTEL_DTYPE_FLOAT16; break;
    case 4: result.dtype = ARTEL_DTYPE_FLOAT32; break;
    case 8: result.dtype = ARTEL_DTYPE_FLOAT64; break;
    default: result.known = false; break;
    }
    return result;
}

/* Two members over one byte are h5py's bool; any other enum counts as its integers. */
static helper_type classify_enum(hid_t type)
{
    hid_t base = H5Tget_super(type);
    helper_type result = classify_integer(base);
    if (result.dtype == ARTEL_DTYPE_INT8 && H5Tget_nmembers(type) == 2) {
        result.identical = H5Tequal(base, H5T_STD_I8LE) > 0;
        result.dtype = ARTEL_DTYPE_BOOL;
        result.memory = H5T_STD_I8LE;
    }
    return result;
}

helper_type helper_classify(hid_t type)
{
    helper_type result = {.known = false};
    switch (H5Tget_class(type)) {
    case H5T_INTEGER: result = classify_integer(type); break;
    case H5T_FLOAT: result = classify_float(type); break;
    case H5T_ENUM: result = classify_enum(type); break;
    case H5T_STRING: return (helper_type){.known = true, .dtype = ARTEL_DTYPE_STRING};
    case H5T_OPAQUE:
        if (H5Tget_size(type) == 2)
            return (helper_type){.known = true, .dtype = ARTEL_DTYPE_BFLOAT16, .memory = type, .identical = true};
        break;
    default: break;
    }
    if (!result.known || result.memory > 0) return result;
    result.memory = helper_memory_type(result.dtype);
    result.identical = H5Tequal(type, result.memory) > 0;
    return result;
}
