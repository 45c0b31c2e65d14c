// Light components: all instances of a program in one process, whose functions the library calls.
#ifndef LIGAMENT_LIGHT_HPP
#define LIGAMENT_LIGHT_HPP

#include "submodel.hpp"

#include <functional>
#include <memory>

namespace ligament {

namespace detail {

// The arguments of run_light, for the functions that C calls.
struct Light {
    std::function<std::unique_ptr<Submodel>(Instance &)> make_submodel;
    std::exception_ptr failed;
    Flags flags;

    // One component.
    struct Member : Running {
        Instance own_instance;
        std::unique_ptr<Submodel> own_submodel;

        Member(lig_instance *handle, Light &light)
            : Running{&own_instance, nullptr, &light.failed}, own_instance(Instance::LightHandle{handle}),
              own_submodel(light.make_submodel(own_instance)) {
            submodel = own_submodel.get();
            if (light.saves_state() && !has_state(submodel))
                throw UsageError("the submodel does not extend SubmodelState, which Flags::uses_checkpoint_api "
                                 "asks for (ligament explain checkpoint-flags)");
        }
    };

    static lig_status make(lig_instance *handle, void *context, void **user, lig_error *error) {
        Light &light = *static_cast<Light *>(context);
        try {
            *user = static_cast<Running *>(new Member(handle, light));
            return LIG_OK;
        } catch (const std::exception &thrown) {
            return Running::keep(light.failed, LIG_ERR_USAGE, thrown.what(), error);
        } catch (...) {
            return Running::keep(light.failed, LIG_ERR_USAGE,
                                 "a submodel's constructor threw no std::exception", error);
        }
    }

    bool saves_state() const {
        return (static_cast<std::uint64_t>(flags) & LIG_USES_CHECKPOINT_API) != 0;
    }

    static void release(void *user) { delete static_cast<Member *>(static_cast<Running *>(user)); }
};

}  // namespace detail

// Runs all instances of this program, and returns when all of them are over. If the model does not say that the
// program is light, the process is one instance, which is run alone. `make` makes the submodel of an instance,
// which may be used in the submodel's constructor and functions. A function is called when each connected port
// of its operator, and each slot, has a message or the end of its conduit. So a function can receive once from
// each port. If a function throws, the whole run ends with the text of the exception, which run_light throws
// again. `flags` are those of every instance.
inline void run_light(std::function<std::unique_ptr<Submodel>(Instance &)> make, Flags flags = Flags::none) {
    detail::Light light{std::move(make), nullptr, flags};
    const lig_submodel submodel = light.saves_state() ? detail::Running::functions_with_state(nullptr)
                                                      : detail::Running::functions(nullptr);
    lig_instance_options options{};
    options.size = sizeof options;
    options.language = "c++";
    options.flags = static_cast<std::uint64_t>(flags);
    lig_light given{};
    given.size = sizeof given;
    given.submodel = &submodel;
    given.make = detail::Light::make;
    given.release = detail::Light::release;
    given.context = &light;
    given.options = &options;
    lig_error error;
    const lig_status status = lig_run_light(&given, &error);
    if (light.failed) std::rethrow_exception(light.failed);
    if (status != LIG_OK) detail::fail(status, error.message);
}

// Does the same for a submodel S whose constructor takes the instance.
template <class S>
void run_light(Flags flags = Flags::none) {
    run_light([](Instance &instance) { return std::make_unique<S>(instance); }, flags);
}

}  // namespace ligament

#endif
