/*
 * The load on SystemC: an actor is an SC_METHOD that sets its own next trigger, which is the cheapest way that SystemC
 * has to be called at a time (no event object of the user's, no sensitivity list).
 */
#include <cstdlib>
#include <memory>
#include <vector>

#define SC_INCLUDE_DYNAMIC_PROCESSES /* sc_spawn() */
#include <systemc>

#include "bench_event.h"

namespace
{

const bench_load *load;
double taken;

class actors : public sc_core::sc_module
{
      public:
	explicit actors(const sc_core::sc_module_name &name) : sc_core::sc_module(name), timeout(load->pending)
	{
		for (uint32_t i = 0; i < load->pending; i++) {
			sc_core::sc_spawn_options opts;

			opts.spawn_method();
			sc_core::sc_spawn([this, i] { act(i); }, sc_core::sc_gen_unique_name("actor"), &opts);
		}
	}

      private:
	void act(uint32_t i)
	{
		if (count == load->warm_up)
			start = bench_seconds();
		if (count++ == load->warm_up + load->count) {
			taken = bench_seconds() - start;
			sc_core::sc_stop();
			return;
		}
		if (load->rearm) {
			timeout[i].cancel();
			timeout[i].notify(sc_core::sc_time::from_value(load->timeout_ps));
		}
		next_trigger(sc_core::sc_time::from_value(load->increments_ps[next++ % BENCH_INCREMENTS]));
	}

	std::vector<sc_core::sc_event> timeout;
	uint64_t count = 0;
	uint32_t next = 0;
	double start = 0;
};

} // namespace

/* SystemC's library calls this from sc_elab_and_sim(). */
int sc_main(int, char **)
{
	const auto top = std::make_unique<actors>("top");

	sc_core::sc_set_stop_mode(sc_core::SC_STOP_IMMEDIATE);
	sc_core::sc_start();
	return 0;
}

double bench_systemc(const bench_load *l, const char *)
{
	static char name[] = "bench_event";
	char *argv[] = { name, nullptr };

	load = l;
	taken = 0;
	setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
	sc_core::sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);
	return sc_core::sc_elab_and_sim(1, argv) == 0 ? taken : 0;
}
