package main

import "fmt"

// goal is what a figure should be. Of several figures with its name the worst counts.
type goal struct {
	name, unit string
	limit      float64
	atLeast    bool // the limit is the smallest figure that meets the goal, else the largest
	value      float64
	isMeasured bool
}

// The names of goals that several measurements share.
const (
	goalHits            = "hits on the trace, warm"
	goalKept            = "hits on the trace, after one changed binding"
	goalReview          = "review, cached over HTTP, x gin"
	goalCached          = "%s, cached over HTTP, x net/http"
	goalUncached        = "review, uncached over HTTP, 200 deny policies, x gin"
	goalInProcess       = "access, uncached in process, 200 deny policies, x allow := true"
	goalWhoMay          = "visibility, uncached authorization"
	goalWhoMayAll       = "visibility, 1000 policies are the principal's"
	goalGateway         = "gateway, uncached, 1000 routes"
	goalBatch           = "batches of 100, cached over HTTP, decisions a second and core"
	goalStart           = "start from documents, %d bindings"
	goalBundle          = "start from a signed bundle, %d bindings"
	goalBinding         = "one binding changed, of %d"
	goalFiles           = "one binding changed, 100000 files"
	goalSessions        = "access, uncached in process, 10000 sessions, x without"
	goalOneSession      = "one session changed of 10000 files, %d bindings"
	goalOneEvent        = "one session changed in a cluster, %d bindings"
	goalSessionQuestion = "who-can beside 10000 sessions, %d bindings"
	goalPotential       = "who-can --potential with 200 escalations, %d bindings"
	goalDeny            = "one deny policy changed beside 200, %d bindings"
	goalMemory          = "peak of resident memory on documents, %d bindings"
	goalAlone           = "peak of resident memory on a signed bundle, %d bindings"
	goalAloneStart      = "server ready from a signed bundle, %d bindings"
	goalAloneCost       = "uncached over HTTP, %d bindings, x that of 10000"
)

func newGoals() []goal {
	at := func(name string, n any) string { return fmt.Sprintf(name, n) }
	return []goal{
		{name: goalHits, unit: "%", limit: 99, atLeast: true},
		{name: goalKept, unit: "%", limit: 95, atLeast: true},
		{name: goalReview, unit: "x", limit: 1.0},
		{name: at(goalCached, "access"), unit: "x", limit: 1.3},
		{name: at(goalCached, "gateway"), unit: "x", limit: 1.3},
		{name: at(goalCached, "visibility"), unit: "x", limit: 1.3},
		{name: goalUncached, unit: "x", limit: 1.5},
		{name: goalInProcess, unit: "x", limit: 3},
		{name: goalWhoMay, unit: "us", limit: 60},
		{name: goalWhoMayAll, unit: "us", limit: 2000},
		{name: goalGateway, unit: "us", limit: 60},
		{name: goalBatch, unit: "/s", limit: 500_000, atLeast: true},
		{name: at(goalStart, 10_000), unit: "s", limit: 0.5},
		{name: at(goalStart, 100_000), unit: "s", limit: 4},
		{name: at(goalBundle, 10_000), unit: "s", limit: 0.3},
		{name: at(goalBundle, 100_000), unit: "s", limit: 0.8},
		{name: at(goalBinding, 10_000), unit: "s", limit: 0.01},
		{name: at(goalBinding, 100_000), unit: "s", limit: 0.03},
		{name: goalFiles, unit: "s", limit: 0.2},
		{name: goalSessions, unit: "x", limit: 1.1},
		{name: at(goalOneSession, 100_000), unit: "s", limit: 0.02},
		{name: at(goalOneEvent, 100_000), unit: "s", limit: 0.02},
		{name: at(goalSessionQuestion, 100_000), unit: "s", limit: 1},
		{name: at(goalPotential, 100_000), unit: "s", limit: 2},
		{name: at(goalDeny, 10_000), unit: "s", limit: 0.03},
		{name: at(goalDeny, 100_000), unit: "s", limit: 0.03},
		{name: at(goalMemory, 10_000), unit: "MiB", limit: 120},
		{name: at(goalMemory, 100_000), unit: "MiB", limit: 500},
		{name: at(goalAlone, 1_000_000), unit: "MiB", limit: 1536},
		{name: at(goalAloneStart, 1_000_000), unit: "s", limit: 15},
		{name: at(goalBinding, 1_000_000), unit: "s", limit: 0.5},
		{name: at(goalAloneCost, 1_000_000), unit: "x", limit: 1.1},
	}
}

// reached records a figure of the goal with a name. Sizes without a goal are not recorded.
func (r *results) reached(value float64, name string, arguments ...any) {
	if len(arguments) > 0 {
		name = fmt.Sprintf(name, arguments...)
	}
	for i := range r.goals {
		g := &r.goals[i]
		if g.name == name && (!g.isMeasured || (value < g.value) == g.atLeast) {
			g.value, g.isMeasured = value, true
		}
	}
}

// printGoals prints each goal, the worst figure and whether it meets the goal; with all,
// goals that were not measured as well.
func (r *results) printGoals(all bool) {
	r.printf("\ngoals; of several figures the worst\n")
	for _, g := range r.goals {
		if !g.isMeasured && !all {
			continue
		}
		if !g.isMeasured {
			r.printf("  %-66s %12s %-3s  goal %9.4g  not measured\n", g.name, "", g.unit, g.limit)
			continue
		}
		state := "met"
		if (g.value < g.limit) == g.atLeast && g.value != g.limit {
			state = "missed"
		}
		r.printf("  %-66s %12.4g %-3s  goal %9.4g  %s\n", g.name, g.value, g.unit, g.limit, state)
	}
}
