// One library with all that is timed of Pinocchio: its templates take a minute or two to compile.
#include "arm.hpp"
#include "rods.hpp"
