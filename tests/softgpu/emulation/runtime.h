// The emulator.
#pragma once
#include "mbarrier_calls.h"
#include "meetings.h"
#include "pending_copies.h"
#include "run_launch.h"
#include "warpgroup_meetings.h"
