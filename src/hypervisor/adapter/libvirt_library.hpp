// libvirt, loaded when a connection is opened for the first time: it and its fifty libraries have 12 MiB resident and
// 1.7 MiB of them private, which a node without virtual machines has no use for. Once there it stays, as it keeps
// threads and the functions that it was given.
#pragma once

#include <libvirt/libvirt.h>    // tidy-allow(foreign): types of functions; private to this adapter
#include <libvirt/virterror.h>  // tidy-allow(foreign): likewise

#include <string>

namespace pvc::hypervisor {

class loaded_library {
public:
    loaded_library(const loaded_library&) = delete;
    loaded_library& operator=(const loaded_library&) = delete;

    // Why it cannot be used; empty: it can, all functions are there.
    [[nodiscard]] const std::string& problem() const { return problem_; }

protected:
    explicit loaded_library(const char* name);
    ~loaded_library() = default;  // and stays loaded

    [[nodiscard]] void* find(const char* function);

private:
    void* handle_;
    std::string problem_;
};

#define PVC_LIBVIRT_FUNCTION(name) decltype(&::name) const name = reinterpret_cast<decltype(&::name)>(find(#name))

class libvirt_library : public loaded_library {
public:
    libvirt_library() : loaded_library("libvirt.so.0") {}

    PVC_LIBVIRT_FUNCTION(virConnectClose);
    PVC_LIBVIRT_FUNCTION(virConnectDomainEventDeregisterAny);
    PVC_LIBVIRT_FUNCTION(virConnectDomainEventRegisterAny);
    PVC_LIBVIRT_FUNCTION(virConnectGetAllDomainStats);
    PVC_LIBVIRT_FUNCTION(virConnectGetLibVersion);
    PVC_LIBVIRT_FUNCTION(virConnectIsAlive);
    PVC_LIBVIRT_FUNCTION(virConnectListAllDomains);
    PVC_LIBVIRT_FUNCTION(virConnectOpen);
    PVC_LIBVIRT_FUNCTION(virConnectOpenReadOnly);
    PVC_LIBVIRT_FUNCTION(virConnectRegisterCloseCallback);
    PVC_LIBVIRT_FUNCTION(virConnectSetKeepAlive);
    PVC_LIBVIRT_FUNCTION(virConnectUnregisterCloseCallback);
    PVC_LIBVIRT_FUNCTION(virDomainAbortJob);
    PVC_LIBVIRT_FUNCTION(virDomainAttachDeviceFlags);
    PVC_LIBVIRT_FUNCTION(virDomainBlockStats);
    PVC_LIBVIRT_FUNCTION(virDomainCreateXML);
    PVC_LIBVIRT_FUNCTION(virDomainDestroyFlags);
    PVC_LIBVIRT_FUNCTION(virDomainDetachDeviceFlags);
    PVC_LIBVIRT_FUNCTION(virDomainFree);
    PVC_LIBVIRT_FUNCTION(virDomainGetCPUStats);
    PVC_LIBVIRT_FUNCTION(virDomainGetInfo);
    PVC_LIBVIRT_FUNCTION(virDomainGetJobStats);
    PVC_LIBVIRT_FUNCTION(virDomainGetName);
    PVC_LIBVIRT_FUNCTION(virDomainGetState);
    PVC_LIBVIRT_FUNCTION(virDomainGetUUID);
    PVC_LIBVIRT_FUNCTION(virDomainGetXMLDesc);
    PVC_LIBVIRT_FUNCTION(virDomainInterfaceStats);
    PVC_LIBVIRT_FUNCTION(virDomainLookupByUUID);
    PVC_LIBVIRT_FUNCTION(virDomainMemoryStats);
    PVC_LIBVIRT_FUNCTION(virDomainMigrate3);
    PVC_LIBVIRT_FUNCTION(virDomainMigrateSetMaxDowntime);
    PVC_LIBVIRT_FUNCTION(virDomainResume);
    PVC_LIBVIRT_FUNCTION(virDomainShutdownFlags);
    PVC_LIBVIRT_FUNCTION(virDomainStatsRecordListFree);
    PVC_LIBVIRT_FUNCTION(virEventRegisterImpl);
    PVC_LIBVIRT_FUNCTION(virGetLastError);
    PVC_LIBVIRT_FUNCTION(virGetLastErrorCode);
    PVC_LIBVIRT_FUNCTION(virInitialize);
    PVC_LIBVIRT_FUNCTION(virSetErrorFunc);
    PVC_LIBVIRT_FUNCTION(virTypedParamsAddString);
    PVC_LIBVIRT_FUNCTION(virTypedParamsAddULLong);
    PVC_LIBVIRT_FUNCTION(virTypedParamsClear);
    PVC_LIBVIRT_FUNCTION(virTypedParamsFree);
    PVC_LIBVIRT_FUNCTION(virTypedParamsGetULLong);
};

#undef PVC_LIBVIRT_FUNCTION

// Loaded at the first call, on the thread of whoever asks; what is not there is tried again by the next process only.
[[nodiscard]] const libvirt_library& libvirt();

}  // namespace pvc::hypervisor
