/* A tool that NVTX finds by NVTX_INJECTION64_PATH: writes each range's beginning and end to the file NVTX_TOOL_OUTPUT.
 */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char domains[8][64];
static int domain_count;

static void tell(const char* what, nvtxDomainHandle_t domain, const char* name) {
  FILE* file = fopen(getenv("NVTX_TOOL_OUTPUT"), "ae");
  if (!file) return;
  fprintf(file, "%s %s %s\n", what, (const char*)domain, name);
  fclose(file);
}

static nvtxDomainHandle_t NVTX_API create(const char* name) {
  char* domain = domains[domain_count++ % 8];
  snprintf(domain, sizeof domains[0], "%s", name);
  return (nvtxDomainHandle_t)domain;
}
static int NVTX_API push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* range) {
  tell("begin", domain, range->messageType == NVTX_MESSAGE_TYPE_ASCII ? range->message.ascii : "?");
  return 0;
}
static int NVTX_API pop(nvtxDomainHandle_t domain) {
  tell("end", domain, "");
  return 0;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const NvtxExportTableCallbacks* callbacks = (const NvtxExportTableCallbacks*)get_table(NVTX_ETID_CALLBACKS);
  NvtxFunctionTable table;
  unsigned int size;
  if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size)) return 0;
  *table[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)create;
  *table[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)push;
  *table[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)pop;
  return 1;
}
