// The formal submodel: functions that the library calls in the order of the execution loop.
#ifndef LIGAMENT_SUBMODEL_HPP
#define LIGAMENT_SUBMODEL_HPP

#include "instance.hpp"

namespace ligament {

// A submodel, given by its operators and its end condition. It is for codes that do not want to write the loop.
class Submodel {
public:
    virtual ~Submodel() = default;
    // F_INIT: sets the state, from messages where there are any.
    virtual void initialise(Instance &instance) = 0;
    // Returns true if this pass is over; called before each step.
    virtual bool is_done() = 0;
    // O_I: sends the state.
    virtual void observe(Instance &instance) = 0;
    // S: advances the state by one step.
    virtual void solve(Instance &instance) = 0;
    // O_F: sends the final state.
    virtual void observe_final(Instance &instance) = 0;
};

// The functions of a submodel whose state belongs to checkpoints: a class extends Submodel and this one. Its
// instance has the flag Flags::uses_checkpoint_api, and the library makes the other calls for checkpoints.
class SubmodelState {
public:
    virtual ~SubmodelState() = default;
    // The model time that the state has reached, s; it decides when the state is saved. Asked after each step.
    virtual double model_time() = 0;
    // Saves the state by one call of instance.save_snapshot. Called after a step or after observe_final.
    virtual void save(Instance &instance) = 0;
    // Sets the state from the message that instance.load_snapshot returns. If the state was saved between two
    // passes, initialise follows; otherwise the pass goes on.
    virtual void restore(Instance &instance) = 0;
};

namespace detail {

// A submodel as C calls it. No exception may cross C, so the first one is stored and thrown again afterwards.
struct Running {
    Instance *instance;
    Submodel *submodel;
    std::exception_ptr *failed;

    template <void (Submodel::*Operation)(Instance &)>
    static lig_status run(lig_instance *, void *user, lig_error *error) {
        Running &running = *static_cast<Running *>(user);
        try {
            (running.submodel->*Operation)(*running.instance);
            return LIG_OK;
        } catch (...) {
            return keep_current(running, error);
        }
    }

    // Stores the exception that is being handled, and writes its own text.
    static lig_status keep_current(Running &running, lig_error *error) {
        try {
            throw;
        } catch (const Error &thrown) {
            return keep(*running.failed, thrown.status(), thrown.what(), error);
        } catch (const std::exception &thrown) {
            return keep(*running.failed, LIG_ERR_USAGE, thrown.what(), error);
        } catch (...) {
            return keep(*running.failed, LIG_ERR_USAGE,
                        "the submodel threw something that is no std::exception", error);
        }
    }

    // C has this function only for submodels that extend SubmodelState.
    template <void (SubmodelState::*Operation)(Instance &)>
    static lig_status run_state(lig_instance *, void *user, lig_error *error) {
        Running &running = *static_cast<Running *>(user);
        try {
            (dynamic_cast<SubmodelState &>(*running.submodel).*Operation)(*running.instance);
            return LIG_OK;
        } catch (...) {
            return keep_current(running, error);
        }
    }

    static lig_status model_time(void *user, double *time, lig_error *error) {
        Running &running = *static_cast<Running *>(user);
        try {
            *time = dynamic_cast<SubmodelState &>(*running.submodel).model_time();
            return LIG_OK;
        } catch (...) {
            return keep_current(running, error);
        }
    }

    static bool is_done(void *user) {
        Running &running = *static_cast<Running *>(user);
        try {
            return running.submodel->is_done();
        } catch (...) {
            *running.failed = std::current_exception();
            return true;  // the next function reports the exception
        }
    }

    static lig_status observe_final(lig_instance *instance, void *user, lig_error *error) {
        Running &running = *static_cast<Running *>(user);
        if (!*running.failed) return run<&Submodel::observe_final>(instance, user, error);
        try {
            std::rethrow_exception(*running.failed);
        } catch (const std::exception &thrown) {
            return keep(*running.failed, LIG_ERR_USAGE, thrown.what(), error);
        } catch (...) {
            return keep(*running.failed, LIG_ERR_USAGE, "is_done() threw something that is no std::exception",
                        error);
        }
    }

    // Stores the exception that is being handled, and writes its text.
    static lig_status keep(std::exception_ptr &failed, lig_status status, const char *text, lig_error *error) {
        failed = std::current_exception();
        std::strncpy(error->message, text, sizeof error->message - 1);
        error->message[sizeof error->message - 1] = 0;
        return status;
    }

    // The functions in the form of the C interface.
    static lig_submodel functions(Running *running) {
        lig_submodel functions{};
        functions.size = sizeof functions;
        functions.initialise = run<&Submodel::initialise>;
        functions.is_done = is_done;
        functions.observe = run<&Submodel::observe>;
        functions.solve = run<&Submodel::solve>;
        functions.observe_final = observe_final;
        functions.user = running;
        return functions;
    }

    // The same, with those of a submodel with state.
    static lig_submodel functions_with_state(Running *running) {
        lig_submodel functions = Running::functions(running);
        functions.save = run_state<&SubmodelState::save>;
        functions.restore = run_state<&SubmodelState::restore>;
        functions.model_time = model_time;
        return functions;
    }

    static bool has_state(const Submodel *submodel) {
        return dynamic_cast<const SubmodelState *>(submodel) != nullptr;
    }
};

}  // namespace detail

// Runs a submodel as long as there are messages to start from. If a function throws, the whole run ends with
// the text of the exception, which is thrown again. If the instance has the flag Flags::uses_checkpoint_api,
// the state of a submodel that extends SubmodelState is saved and restored, too.
inline void run_submodel(Instance &instance, Submodel &submodel) {
    std::exception_ptr failed;
    detail::Running running{&instance, &submodel, &failed};
    const lig_submodel functions = detail::Running::has_state(&submodel)
                                       ? detail::Running::functions_with_state(&running)
                                       : detail::Running::functions(&running);
    lig_error error;
    const lig_status status = lig_run_submodel(instance.raw(), &functions, &error);
    if (failed) std::rethrow_exception(failed);
    if (status != LIG_OK) detail::fail(status, error.message);
}

}  // namespace ligament

#endif
