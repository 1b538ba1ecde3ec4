// The functions of CUPTI that the profiler needs, found at run time.
// Owns: the table, the sentence for each way in which CUPTI is missing or refuses. Must not know:
// sessions, what records are made of. For units of this folder: includes CUPTI's header.
#pragma once

#include <cupti.h>
#include <string>

namespace ingot::profiler {

struct Cupti {
  std::string missing;  // why there is none, with what to install; empty: the table is full
  decltype(&::cuptiGetVersion) version;
  decltype(&::cuptiGetResultString) result_string;
  decltype(&::cuptiGetTimestamp) timestamp;
  decltype(&::cuptiSetThreadIdType) set_thread_id_type;
  decltype(&::cuptiActivityRegisterCallbacks) register_callbacks;
  decltype(&::cuptiActivitySetAttribute) set_attribute;
  decltype(&::cuptiActivityEnable) enable;
  decltype(&::cuptiActivityDisable) disable;
  decltype(&::cuptiActivityFlushAll) flush;
  decltype(&::cuptiActivityGetNextRecord) next_record;
  decltype(&::cuptiActivityGetNumDroppedRecords) dropped;
  decltype(&::cuptiActivityPushExternalCorrelationId) push;
  decltype(&::cuptiActivityPopExternalCorrelationId) pop;
  decltype(&::cuptiGetCallbackName) callback_name;
  decltype(&::cuptiFinalize) finalize;
};

// Opened by the first call.
const Cupti& cupti();
std::string cupti_name();  // "CUPTI 13.0"
// What a status means and what helps.
std::string refusal(CUptiResult status, const char* call);

}  // namespace ingot::profiler
