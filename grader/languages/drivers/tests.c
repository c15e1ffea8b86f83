#include <limits.h>
#include <stdint.h>
#define UNITY_BEGIN() 0
#define UNITY_END() 0
#define RUN_TEST(test) (setUp(), test(), tearDown())
void setUp(void);
void tearDown(void);
#line 1 "tests.c"
