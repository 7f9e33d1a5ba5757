/*
 * The load on ns-3: an actor is one event object that schedules itself again, which spares ns-3 the allocation and the
 * bound arguments of its usual Schedule(); a time-out is a fresh object each time, since a cancelled one stays queued
 * until it is due.
 */
#include <vector>

#include <ns3/event-impl.h>
#include <ns3/make-event.h>
#include <ns3/nstime.h>
#include <ns3/object-factory.h>
#include <ns3/simulator.h>

#include "bench_event.h"

namespace
{

const bench_load *load;
uint64_t operations;
uint32_t next_increment;
double start, taken;

void expired()
{
}

class actor : public ns3::EventImpl
{
      public:
	void schedule()
	{
		const uint64_t delay = load->increments_ps[next_increment++ % BENCH_INCREMENTS];

		ns3::Simulator::Schedule(ns3::TimeStep(delay), ns3::Ptr<ns3::EventImpl>(this));
	}

      protected:
	void Notify() override
	{
		if (operations == load->warm_up)
			start = bench_seconds();
		if (operations++ == load->warm_up + load->count) {
			taken = bench_seconds() - start;
			ns3::Simulator::Stop();
			return;
		}
		if (load->rearm) {
			timeout.Cancel();
			timeout = ns3::Simulator::Schedule(ns3::TimeStep(load->timeout_ps), &expired);
		}
		schedule();
	}

      private:
	ns3::EventId timeout;
};

} // namespace

double bench_ns3(const bench_load *l, const char *variant)
{
	ns3::ObjectFactory factory;
	std::vector<ns3::Ptr<actor>> actors;

	load = l;
	operations = 0;
	next_increment = 0;
	taken = 0;
	factory.SetTypeId(std::string("ns3::") + variant + "Scheduler");
	ns3::Simulator::SetScheduler(factory);
	for (uint32_t i = 0; i < load->pending; i++) {
		actors.push_back(ns3::Create<actor>());
		actors.back()->schedule();
	}
	ns3::Simulator::Run();
	ns3::Simulator::Destroy();
	return taken;
}
