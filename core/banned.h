/* SPDX-License-Identifier: Apache-2.0
 * Force-included before every file: functions that overflow, keep hidden state, or run a shell do not
 * compile here. The headers come first so that their own declarations stay valid. */
#ifndef CORE_BANNED_H
#define CORE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BANNED(f) sorry_##f##_is_banned_here

#undef strcpy
#undef strcat
#undef strncpy
#undef strncat
#undef sprintf
#undef vsprintf
#undef strtok
#undef gets
#undef atoi
#undef atol
#undef atof
#undef gmtime
#undef localtime
#undef ctime
#undef asctime
#undef rand
#undef srand
#undef system
#undef popen
#undef alloca
#define strcpy BANNED(strcpy)
#define strcat BANNED(strcat)
#define strncpy BANNED(strncpy)
#define strncat BANNED(strncat)
#define sprintf BANNED(sprintf)
#define vsprintf BANNED(vsprintf)
#define strtok BANNED(strtok)
#define gets BANNED(gets)
#define atoi BANNED(atoi)
#define atol BANNED(atol)
#define atof BANNED(atof)
#define gmtime BANNED(gmtime)
#define localtime BANNED(localtime)
#define ctime BANNED(ctime)
#define asctime BANNED(asctime)
#define rand BANNED(rand)
#define srand BANNED(srand)
#define system BANNED(system)
#define popen BANNED(popen)
#define alloca BANNED(alloca)

#endif
