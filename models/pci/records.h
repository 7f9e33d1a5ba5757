/* Records of PCI functions; see records.def. */
#ifndef BELFRY_MODELS_PCI_RECORDS_H
#define BELFRY_MODELS_PCI_RECORDS_H

#define BF_RECORDS_DEF "models/pci/records.def"
#include "sim/record_declare.h"

#endif
