#include "models/pci/records.h"

#define F(type, name, kind, unit) BF_RECORD_FIELD_(pci_config, type, name, kind, unit)
BF_RECORD_DEFINE(pci_config, BF_REC_PCI_CONFIG_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(pci_reset, type, name, kind, unit)
BF_RECORD_DEFINE(pci_reset, BF_REC_PCI_RESET_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(pci_interrupt, type, name, kind, unit)
BF_RECORD_DEFINE(pci_interrupt, BF_REC_PCI_INTERRUPT_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(vfio_user_message, type, name, kind, unit)
BF_RECORD_DEFINE(vfio_user_message, BF_REC_VFIO_USER_MESSAGE_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(vfio_user_map, type, name, kind, unit)
BF_RECORD_DEFINE(vfio_user_map, BF_REC_VFIO_USER_MAP_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(vfio_user_session, type, name, kind, unit)
BF_RECORD_DEFINE(vfio_user_session, BF_REC_VFIO_USER_SESSION_FIELDS(F));
#undef F
