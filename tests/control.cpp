// Whether this program is the tests, or their control: .build/grade compiles this file anew for that (MINBERT_CONTROL).
namespace minbert::test {

extern const bool is_control;
#ifdef MINBERT_CONTROL
const bool is_control = true;
#else
const bool is_control = false;
#endif

}  // namespace minbert::test
