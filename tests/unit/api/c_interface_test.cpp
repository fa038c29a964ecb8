// The C interface: handles, errors, options, tensors in and out.
#include <tang/tang.h>

#include "support.h"

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* text =
    "param n\ndim i = n\ninput x[i], d[i]\nnext[i] = x[i] + d[i]\noutput next into x\n";

struct CInterface : ::testing::Test {
  void SetUp() override {
    const tang_option options[] = {{"device", "c"}, {"param.n", "3"}, {"math", "ieee"}};
    ASSERT_EQ(tang_compile(text, options, 3, &program, &error), 0) << tang_error_message(error);
    EXPECT_EQ(error, nullptr);
  }
  void TearDown() override {
    tang_program_free(program);
    tang_error_free(error);
  }

  // "id code", of a call that failed.
  std::string failure(int code) {
    const std::string said = std::string(tang_error_id(error)) + " " + std::to_string(code);
    EXPECT_EQ(code, tang_error_exit_code(error));
    message = tang_error_message(error);
    tang_error_free(error);
    error = nullptr;
    return said;
  }
  DLTensor tensor(float* data) {
    return {data, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, &three, nullptr, 0};
  }

  int64_t three = 3;
  float x[3] = {1, 2, 3}, d[3] = {10, 20, 30}, y[3] = {};
  tang_program* program = nullptr;
  tang_error* error = nullptr;
  std::string message;
};

TEST_F(CInterface, DescribesItself) {
  EXPECT_STREQ(tang_version(), "0.1.0");
  EXPECT_STREQ(tang_program_device(program), "c");
  EXPECT_EQ(tang_program_input_count(program), 2u);
  EXPECT_EQ(tang_program_output_count(program), 1u);
  const tang_port* in = tang_program_input(program, 1);
  EXPECT_STREQ(in->name, "d");
  EXPECT_STREQ(in->format, "f32");
  EXPECT_EQ(in->ndim, 1);
  EXPECT_EQ(in->shape[0], 3);
  EXPECT_EQ(in->into, nullptr);
  EXPECT_STREQ(tang_program_output(program, 0)->into, "x");
  EXPECT_EQ(tang_program_output(program, 1), nullptr);
  EXPECT_EQ(tang_program_workspace_bytes(program), 0);
  EXPECT_EQ(tang_program_peak_bytes(program), 24);
}

TEST_F(CInterface, RunsOnTensors) {
  const DLTensor in[] = {tensor(x), tensor(d)}, out = tensor(y);
  const DLTensor *inputs[] = {&in[0], &in[1]}, *outputs[] = {&out};
  ASSERT_EQ(tang_program_run(program, inputs, 2, outputs, 1, nullptr, &error), 0);
  EXPECT_THAT(y, ElementsAre(11, 22, 33));
  EXPECT_THAT(x, ElementsAre(1, 2, 3));
  outputs[0] = &in[0];
  ASSERT_EQ(tang_program_run(program, inputs, 2, outputs, 1, nullptr, nullptr), 0);
  EXPECT_THAT(x, ElementsAre(11, 22, 33)) << "in place";
}

TEST_F(CInterface, RunsOnManagedTensorsAndMakesOutputs) {
  DLManagedTensorVersioned a = {{1, 0}, nullptr, nullptr, TANG_DLPACK_READ_ONLY, tensor(x)};
  DLManagedTensorVersioned b = {{1, 0}, nullptr, nullptr, 0, tensor(d)};
  DLManagedTensorVersioned *inputs[] = {&a, &b}, *outputs[] = {nullptr};
  ASSERT_EQ(tang_program_run_managed(program, inputs, 2, outputs, 1, nullptr, &error), 0);
  ASSERT_NE(outputs[0], nullptr);
  EXPECT_EQ(outputs[0]->dl_tensor.shape[0], 3);
  EXPECT_EQ(static_cast<float*>(outputs[0]->dl_tensor.data)[2], 33);
  outputs[0]->deleter(outputs[0]);
  outputs[0] = &a;
  EXPECT_EQ(failure(tang_program_run_managed(program, inputs, 2, outputs, 1, nullptr, &error)),
            "E0721 2");
  inputs[1] = nullptr;
  outputs[0] = nullptr;
  EXPECT_EQ(failure(tang_program_run_managed(program, inputs, 2, outputs, 1, nullptr, &error)),
            "E0718 2");
  EXPECT_EQ(outputs[0], nullptr) << "what was made is gone";
}

TEST_F(CInterface, FailuresAreErrors) {
  tang_program* other = nullptr;
  EXPECT_EQ(failure(tang_compile("y = z\noutput y\n", nullptr, 0, &other, &error)), "E0201 2");
  EXPECT_THAT(message, HasSubstr("program:1:5: error E0201"));
  EXPECT_EQ(other, nullptr);
  const auto compile = [&](const char* key, const char* value) {
    const tang_option options[] = {{"param.n", "3"}, {key, value}};
    return failure(tang_compile(text, options, 2, &other, &error));
  };
  EXPECT_EQ(compile("device", "quartz"), "E0802 2");
  EXPECT_EQ(compile("math", "loose"), "E0801 2");
  EXPECT_EQ(compile("param.n", "3x"), "E0801 2");
  EXPECT_EQ(compile("param.m", "3"), "E0710 2");
  EXPECT_EQ(compile("colour", "3"), "E0801 2");
  EXPECT_EQ(compile("path", "/nowhere"), "E0901 3");
  EXPECT_EQ(tang_compile(text, nullptr, 0, &other, nullptr), 2) << "no error is wanted";
  EXPECT_EQ(failure(tang_program_run(program, nullptr, 0, nullptr, 0, nullptr, &error)), "E0718 2");
}

}  // namespace
