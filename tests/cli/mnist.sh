#!/usr/bin/env bash
# examples/mnist.tang with trained weights reads the four digits of the test data.
. tests/cli/lib.bash
data=${TANG_TEST_DATA:-../shared/data}

expect 0 check examples/mnist.tang --tol 1e-5
if [[ ! -e $data/opt-mnist.onnx ]]; then
  echo "no $data/opt-mnist.onnx: the trained model is not tested"
  finish
  exit
fi
command -v python3 >/dev/null || { echo "no python3: the trained model is not tested"; finish; exit; }
mkdir "$work/in"
python3 tests/cli/mnist_data.py "$data/opt-mnist.onnx" "$work/in" "$data"/digits/{0,3,5,7}.jpg || fault "mnist_data.py"
given=()
for name in image w1 b1 w2 b2 w3 b3; do given+=(--in "$name=$work/in/$name.npy"); done
for how in "" --naive; do
  expect 0 run examples/mnist.tang "${given[@]}" $how; silent
  grep -qE '^digit +\[4\] +i32 +0 3 5 7$' "$work/out" || fault "$last: the digits are 0 3 5 7"
done
expect 0 check examples/mnist.tang "${given[@]}" --tol 1e-5
finish
