package visibility

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// allowing is an Allow of a rule that matches everything.
func allowing(name string, priority int, entries ...*Entry) *Policy {
	return &Policy{Name: name, Priority: &priority, Users: []string{"eve"}, Rules: []*Rule{
		{Pattern: ".*", View: true, ViewMetrics: true, Entries: entries},
	}}
}

func changed[T any](value *T, change func(*T)) *T {
	change(value)
	return value
}

func viewOnly(p *Policy) { p.Rules[0].ViewMetrics = false }

func denying(p *Policy) { p.Deny = true }

func elsewhere(p *Policy) { p.Rules[0].Pattern, p.Rules[0].Names = "", []string{"elsewhere"} }

func selecting(rule Rule) *Policy {
	rule.View = true
	return &Policy{Name: "p", Users: []string{"eve"}, Rules: []*Rule{&rule}}
}

func byDefault(word string) *Policy {
	return &Policy{Name: "p", Users: []string{"eve"}, Default: word}
}

func listedEntry(kind, visibility string) *Entry {
	return &Entry{Type: kind, Visibility: visibility}
}

func splitView(text string) []string { return strings.Fields(text) }

// asked reads a request, which is of eve and of cluster c where it says nothing
// else, at noon.
func asked(text string) Request {
	r, err := ReadRequest([]byte(text))
	if err != nil {
		panic(err) // of a row
	}
	if r.User == "" {
		r.User = "eve"
	}
	if r.Cluster.Name == "" {
		r.Cluster.Name = "c"
	}
	r.Now = noon
	return r
}

func pvc() *MetricSource {
	return &MetricSource{Name: "pvcs", Type: "pvc", Fields: []string{"phase", "capacity", "class"}, Aggregations: []*Aggregation{
		{Name: "total", Function: "count"},
		{Name: "sum", Function: "sum", Field: "capacity"},
		{Name: "avg", Function: "avg", Field: "capacity"},
		{Name: "p50", Function: "percentile", Percentile: 50, Field: "capacity"},
		{Name: "p90", Function: "percentile", Percentile: 90, Field: "capacity"},
		{Name: "max", Function: "max", Field: "capacity"},
		{Name: "by_class", Function: "count", GroupBy: "class"},
	}}
}

func inNamespaces(kind, visibility, allowed string) *Entry {
	return &Entry{Type: kind, Visibility: visibility, Namespaces: Criteria{Allowed: splitView(allowed)}}
}

const pods11 = `{"type":"pods","items":[{"name":"web"},{"name":"web-tmp","labels":{"team":"blue"}},
	{"name":"x","labels":{"team":"blue"}},{"name":"x","labels":{"team":"red"}}]}`

const capacities = `"items":[{"namespace":"a","fields":{"capacity":10}},{"namespace":"a","fields":{"capacity":20}},
	{"namespace":"a","fields":{"capacity":30}},{"namespace":"a","fields":{"capacity":40}},{"namespace":"z","fields":{"capacity":1000}}]`

const byNamespace = `"metrics":{"totals":{"pods":115,"namespaces":3,"nodes":7},
	"byNamespace":{"app-a":{"pods":10},"app-b":{"pods":5},"kube-system":{"pods":100}}}`

const byNode = `"metrics":{"byNode":{"w1":{"cpu_capacity":8,"cpu_requested":2,"labels":{"env":"prod"}},
	"w2":{"cpu_capacity":8,"cpu_requested":6,"labels":{"env":"prod"}},"m1":{"cpu_capacity":4,"cpu_requested":1}}}`

// The worked examples, except 29: it is 14 in the other spelling, which the oracle does
// not read.
func TestVisibilityExamples(t *testing.T) {
	of := func(policies ...*Policy) *World {
		return &World{Policies: policies, Sources: []*MetricSource{pvc()}}
	}
	tomorrow, end := "2026-03-02T00:00:00Z", "2026-03-01T00:00:00Z"
	until := func() *World { return of(changed(allowing("p", 1), func(p *Policy) { p.NotAfter = end })) }
	tied := func() *World {
		a, b := allowing("z", 100), allowing("a", 100)
		a.Namespace, b.Namespace = "team-a", "team-b"
		return of(b, a)
	}
	storage := of(allowing("p", 1, &Entry{
		Type: "pvc", Namespaces: Criteria{Allowed: []string{"prod-*"}}, Names: Criteria{Denied: []string{"*-temp"}},
		Fields: map[string]Criteria{"phase": {Allowed: []string{"Bound"}}},
	}))
	field := func(c Criteria) *World {
		return of(allowing("p", 1, &Entry{Type: "pvc", Fields: map[string]Criteria{"phase": c}}))
	}
	two := of(changed(allowing("P100", 100), viewOnly), allowing("P200", 200))
	for _, row := range []struct {
		name    string
		views   *World
		request string
		at      time.Duration // after noon
		want    string
	}{
		{"1", two, `{}`, 0, `allow by P100 [view]`},
		{"2", two, `{"action":"viewMetrics"}`, 0, `deny by P100: Policy P100 does not permit viewMetrics`},
		{"3", of(allowing("P10", 10), changed(allowing("P900", 900), denying)), `{}`, 0, `deny by P900: Denied by policy P900`},
		{"4", of(allowing("P100", 100), changed(changed(allowing("P50", 50), denying), elsewhere)), `{}`, 0, `allow by P100 [view viewMetrics]`},
		{"5", tied(), `{}`, 0, `allow by z [view viewMetrics]`},
		{
			"6", of(selecting(Rule{Names: []string{"x"}, Labels: map[string]string{"env": "prod"}})),
			`{"cluster":{"name":"y","labels":{"env":"prod"}}}`, 0, `allow by p [view]`,
		},
		{"7", of(selecting(Rule{Pattern: "prod"})), `{"cluster":{"name":"nonprod-1"}}`, 0, `allow by p [view]`},
		{"8, view", of(byDefault("all")), `{}`, 0, `allow by p [view]`},
		{"8, viewMetrics", of(byDefault("all")), `{"action":"viewMetrics"}`, 0, `deny by p: Policy p does not permit viewMetrics`},
		{"9, then", until(), `{}`, -12 * time.Hour, `allow by p [view viewMetrics]`},
		{"9, later", until(), `{}`, -12*time.Hour + time.Millisecond, `deny by : No matching policies found`},
		{"10", of(changed(allowing("P1", 1), func(p *Policy) { p.NotBefore = tomorrow }), allowing("P2", 2)), `{}`, 0, `allow by P2 [view viewMetrics]`},
		{"11", of(allowing("p", 1, &Entry{
			Type: "pods", Visibility: "filtered", Names: Criteria{Allowed: splitView("web api-*"), Denied: splitView("*-tmp")}, Labels: map[string]string{"team": "blue"},
		})), pods11, 0, `partial by p [view viewMetrics] shows [0 2]`},
		{"12", of(allowing("p", 1, &Entry{Type: "namespaces", Visibility: "filtered", Names: Criteria{Denied: splitView("kube-system")}})),
			`{"type":"namespaces","items":[{"name":"a"},{"name":"kube-system"}]}`, 0, `partial by p [view viewMetrics]`},
		{"13", of(allowing("p", 1, &Entry{Type: "namespaces", Visibility: "all", Names: Criteria{Denied: splitView("openshift-*")}})),
			`{"type":"namespaces","items":[{"name":"default"},{"name":"openshift-dns"}]}`, 0, `partial by p [view viewMetrics] shows [0]`},
		{"14", of(allowing("p", 1, inNamespaces("pods", "", "a"))),
			`{"type":"pods","items":[{"name":"x","namespace":"a"},{"name":"x","namespace":"b"}]}`, 0, `partial by p [view viewMetrics] shows [0]`},
		{"15", of(allowing("p", 1, &Entry{Type: "namespaces", Visibility: "filtered", Names: Criteria{Allowed: splitView("app-*")}})),
			`{"type":"pods","items":[{"name":"x","namespace":"app-1"},{"name":"x","namespace":"kube-system"}]}`, 0, `partial by p [view viewMetrics] shows [0]`},
		{"16", of(allowing("p", 1, inNamespaces("operators", "filtered", "m"))),
			`{"type":"operators","items":[{"name":"o","fields":{"available_in_namespaces":["*"]}},{"name":"o","fields":{"available_in_namespaces":["m","x"]}},
				{"name":"o","fields":{"available_in_namespaces":["x"]}}]}`, 0, `partial by p [view viewMetrics] shows [0 1]`},
		{"17", of(allowing("p", 1, listedEntry("pvc", "all"))), `{"type":"certificate"}`, 0, `deny by : No policy grants access to custom resource type: certificate`},
		{"18", of(allowing("P10", 10, listedEntry("pvc", "none")), allowing("P20", 20, listedEntry("pvc", "filtered")), allowing("P30", 30, listedEntry("pvc", "all"))),
			`{"type":"pvc"}`, 0, `partial by P20 [view viewMetrics]`},
		{"19", storage, `{"type":"pvc","items":[{"namespace":"prod-a","name":"db","fields":{"phase":"Bound"}},
			{"namespace":"prod-a","name":"db-temp","fields":{"phase":"Bound"}},{"namespace":"dev","name":"db","fields":{"phase":"Bound"}},
			{"namespace":"prod-a","name":"db","fields":{"phase":"Pending"}}]}`, 0, `partial by p [view viewMetrics] shows [0] ...`},
		{"20", field(Criteria{Denied: splitView("Failed")}), `{"type":"pvc","items":[{"name":"x"}]}`, 0, `partial by p [view viewMetrics] shows [0] ...`},
		{"21", field(Criteria{Allowed: splitView("Bound")}), `{"type":"pvc","items":[{"name":"x"}]}`, 0, `partial by p [view viewMetrics] ...`},
		{"22", of(allowing("p", 1, &Entry{Type: "pvc", Visibility: "all", Include: splitView("a"), Exclude: splitView("a b")})),
			`{"type":"pvc","aggregations":{"a":1,"b":2,"c":3}}`, 0, `allow by p [view viewMetrics] {a:1}`},
		{"23", of(allowing("p", 1, inNamespaces("pvc", "filtered", "a"))), `{"type":"pvc",` + capacities + `}`, 0, `p50:25 p90:37 max:40`},
		{"24", of(allowing("p", 1, inNamespaces("pvc", "filtered", "nowhere"))), `{"type":"pvc",` + capacities + `}`, 0, `total:0 sum:0 avg:null by_class:{}`},
		{"25", of(allowing("p", 1, inNamespaces("pvc", "filtered", "nowhere"))), `{"type":"pvc","aggregations":{"total":9}}`, 0, `partial by p [view viewMetrics]`},
		{"26", of(allowing("p", 1, &Entry{Type: "namespaces", Names: Criteria{Allowed: splitView("app-*")}})),
			`{` + byNamespace + `}`, 0, `pods:15 namespaces:2 filtered:true nodes:7`},
		{"27", of(allowing("p", 1, &Entry{Type: "nodes", Labels: map[string]string{"env": "prod"}})),
			`{` + byNode + `}`, 0, `nodes:2 cpu_capacity:16 cpu_usage_percent:50`},
		{"28", of(allowing("p", 1, &Entry{Type: "pods", Names: Criteria{Allowed: splitView("web")}})), `{` + byNamespace + `}`, 0, `pods:null namespaces:3`},
		{"30", of(changed(allowing("p", 1), func(p *Policy) { p.Users = splitView("ev*") })), `{}`, 0, `deny by : No matching policies found`},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := asked(row.request)
			r.Now = r.Now.Add(row.at)
			got := inWords(row.views.Decide(r))
			if strings.Contains(row.want, " by ") {
				start, open := strings.CutSuffix(row.want, " ...")
				if got != row.want && !(open && strings.HasPrefix(got, start+" {")) {
					t.Errorf("got %s, want %s", got, row.want)
				}
				return
			}
			for _, part := range splitView(row.want) {
				if !slices.Contains(splitView(strings.Trim(got[strings.Index(got, "{")+1:], "}")), part) && !strings.Contains(got, part+"}") {
					t.Errorf("got %s, want %s in it", got, part)
				}
			}
		})
	}
}

// inWords is what a decision says, on a line.
func inWords(d Decision) string {
	text := fmt.Sprintf("%s by %s", d.Decision, d.Policy)
	if d.Decision == "deny" {
		return text + ": " + d.Reason
	}
	text += fmt.Sprint(" ", d.Permissions)
	if len(d.Visible) > 0 {
		text += fmt.Sprint(" shows ", d.Visible)
	}
	for _, values := range []map[string]any{d.Aggregations, d.Metrics} {
		if len(values) > 0 {
			written, err := json.Marshal(values)
			if err != nil {
				panic(err) // only numbers, lists and objects come here
			}
			text += " " + strings.NewReplacer(`"`, "", ",", " ").Replace(string(written))
		}
	}
	return text
}

// Random requests must reach every outcome often, or they prove nothing.
func TestVisibilityRequestsReachEverything(t *testing.T) {
	count := map[string]int{}
	const worlds, each = 100, 100
	for seed := range uint64(worlds) {
		_, views := Generate(seed)
		for _, r := range views.Requests(each) {
			if !json.Valid([]byte(r.JSON())) {
				t.Fatalf("no JSON: %s", r.JSON())
			}
			for _, outcome := range reached(views, r) {
				count[outcome]++
			}
		}
	}
	for name, least := range map[string]int{
		"no principal": 200, "unknown action": 200, "no cluster given": 30, "Denied by policy": 500, "No matching policies": 1000,
		"Policy lacks it": 300, "Access denied to": 500, "No policy grants": 1000, "everywhere": 300, "by default": 500,
		"allow standard": 1000, "partial standard": 1000, "allow custom": 100, "partial custom": 500, "later rule": 200,
		"some items": 500, "no items": 300, "all items": 500, "aggregations": 200, "recomputed": 100, "grouped": 50,
		"metrics": 300, "metrics filtered": 200, "pods unknown": 20, "pods known": 50,
	} {
		if least = least * worlds / 300; count[name] < least {
			t.Errorf("%s: got %d of %d, want %d", name, count[name], worlds*each, least)
		}
	}
}

// reached are the outcomes that a request reaches.
func reached(views *World, r Request) []string {
	d := views.Decide(r)
	if d.Decision == "deny" {
		if d.Policy != "" && strings.HasPrefix(d.Reason, "Policy ") {
			return []string{"Policy lacks it"}
		}
		for _, start := range []string{"no principal", "unknown action", "no cluster given", "Denied by policy", "No matching policies", "Access denied to", "No policy grants"} {
			if strings.HasPrefix(d.Reason, start) {
				return []string{start}
			}
		}
		return []string{d.Reason}
	}
	kind := map[bool]string{true: "standard", false: "custom"}[r.standard()]
	names := []string{d.Decision + " " + kind}
	add := func(name string, is bool) {
		if is {
			names = append(names, name)
		}
	}
	add("everywhere", r.Cluster.Name == "")
	add("by default", d.Matched[0].Rule < 0)
	add("later rule", d.Matched[0].Rule > 0)
	if r.Items != nil && r.Type != "" && d.Decision == "partial" {
		shown, all := len(d.Visible), len(*r.Items)
		add("some items", shown > 0 && shown < all)
		add("no items", shown == 0 && all > 0)
		add("all items", shown == all && all > 0)
	}
	add("aggregations", len(d.Aggregations) > 0)
	for _, value := range d.Aggregations {
		_, recomputed := value.(Number)
		groups, grouped := value.(map[string]any)
		add("recomputed", recomputed)
		add("grouped", grouped && len(groups) > 1 && d.Decision == "partial")
	}
	add("metrics", len(d.Metrics) > 0)
	add("metrics filtered", d.Metrics["filtered"] == true)
	if pods, there := d.Metrics["pods"]; there && d.Filters["pods"] != nil {
		add("pods unknown", pods == nil)
		add("pods known", pods != nil)
	}
	return names
}
