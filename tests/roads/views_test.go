package roads

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/oracle/visibility"
)

// viewClusters are in the clusters file; others that requests name are not.
var viewClusters = []string{"prod-eu-1", "nonprod-1", "dev", "edge.1", "ünï"}

// hidden hides clusters with a label from most users.
const hidden = `
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: hidden, namespace: labels}
spec:
  identity: {priority: 1, subjects: {users: [alice, Alice, eve], groups: [dev, ops]}}
  access: {effect: Deny, enabled: true}
  scope: {clusters: {default: none, rules: [{selector: {matchLabels: {env: prod}}}]}}
`

// All roads to a decision at the visibility point agree with it. A request leaves out the labels
// of a cluster in the clusters file, or states others.
func TestVisibilityRoadsAgree(t *testing.T) {
	t.Parallel()
	counts := make(map[string]int)
	for seed := gate.Seed(); seed < gate.Seed()+uint64(worlds()); seed++ {
		files, world := visibility.Generate(seed)
		edited, after := visibility.Generate(seed + 1)
		files["hidden.yaml"], edited["hidden.yaml"] = hidden, hidden
		requests := [][]visibility.Request{world.Requests(60), after.Requests(60)}
		callers := callersOf(slices.Concat(requests...))
		s := newSite(t, seed, viewClusters, files, callers...)
		s.counts = counts
		for state, documents := range []map[string]string{files, edited, files} {
			s.edit(documents)
			s.sameInLog("visibility")
			for range 4 {
				s.at(s.within(requests[state%2]))
				var asked []map[string]any
				for range requestsPerState {
					q := members(decode(t, []byte(requests[s.IntN(2)][s.IntN(60)].JSON())))
					asked = append(asked, s.viewRoads(q))
				}
				s.sameInBatches("visibility", asked)
				s.sameOnCommandLine("visibility", asked)
				s.sameReplayed("visibility", asked)
				s.permissions(callers)
			}
		}
	}
	t.Log(counts)
	(&site{T: t}).check(counts, "visibility",
		"visibility filter", "visibility compile", "visibility explanation of items", "visibility stream", "permissions")
}

// viewRoads asks for a decision by each road. Its argument is a request that states the labels of
// its cluster. It returns the request with those that the server knows.
func (s *site) viewRoads(q map[string]any) (whole map[string]any) {
	s.Helper()
	cluster := members(q["cluster"])
	name, _ := cluster["name"].(string)
	whole, asked := q, q
	if labels, known := s.labels[name]; known && (cluster["labels"] == nil || !s.Once(3)) {
		asked = with(q, map[string]any{"cluster": map[string]any{"name": name}})
		whole = with(q, map[string]any{"cluster": map[string]any{"name": name, "labels": labels}})
		whole = members(decode(s.T, encode(whole)))
	}
	want, valid := s.decide("visibility", whole)
	if !valid {
		s.Errorf("%s is not valid: %s", encode(whole), want)
		return whole
	}
	s.sameOnRoads("visibility", asked, want)
	s.sameStreamed(asked, whole)
	s.viewFilter(asked, want)
	return whole
}

// sameStreamed sends the items of a request one a line: none are an empty list. stated has the
// labels of its cluster, which a command does not know.
func (s *site) sameStreamed(q, stated map[string]any) {
	s.Helper()
	items, _ := q["items"].([]any)
	want, _ := s.decide("visibility", with(stated, map[string]any{"items": append([]any{}, items...)}))
	var lines []byte
	for _, item := range items {
		lines = append(append(lines, encode(item)...), '\n')
	}
	body := append(append(encode(with(q, map[string]any{"items": nil})), '\n'), lines...)
	status, text := s.send("POST", s.kept+"/v1/decisions/visibility", "application/x-ndjson", body)
	if status != http.StatusOK {
		s.Fatalf("stream of %s: got %d %s", encode(q), status, text)
	}
	s.same("visibility stream", q, whole(s.decodeLines(text)), want)
	if s.Once(8) {
		body = append(append(encode(with(stated, map[string]any{"items": nil})), '\n'), lines...)
		s.same("visibility stream", q, whole(s.eval(body, "--point", "visibility", "--stream")), want)
	}
}

// whole is the decision that the lines of a stream come to.
func whole(lines any) any {
	got, visible := map[string]any{}, []any{}
	for _, line := range lines.([]any) {
		for key, value := range members(line) {
			if list, ok := value.([]any); ok && key == "visible" {
				visible = append(visible, list...)
				continue
			}
			got[key] = value
		}
	}
	got["visible"] = visible
	return got
}

// viewFilter evaluates the filter of a request on its items, which have no fields: how a column
// has the values of a field is for the caller to state.
func (s *site) viewFilter(q map[string]any, want any) {
	s.Helper()
	stated := with(q, map[string]any{"items": nil, "aggregations": nil, "metrics": nil})
	items, _ := q["items"].([]any)
	if stated["type"] == "" {
		return
	}
	found, ok := s.filter("visibility", stated, nil)
	if !ok || items == nil {
		return
	}
	visible, _ := members(want)["visible"].([]any)
	got, shown := []bool{}, []bool{}
	for i, item := range items {
		if len(members(members(item)["fields"])) > 0 {
			continue
		}
		row := with(members(item), map[string]any{"labels": nil, "fields": nil})
		for key, value := range members(members(item)["labels"]) {
			row["labels."+key] = value
		}
		got, shown = append(got, found.selects(s, row)), append(shown, contains(visible, i))
	}
	if len(got) > 0 {
		s.same("visibility filter", q, got, shown)
	}
}

// within returns the time of a request that the clock can have.
func (s *site) within(requests []visibility.Request) time.Time {
	for {
		if now := requests[s.IntN(len(requests))].Now; time.Unix(0, now.UnixNano()).Equal(now) {
			return now
		}
	}
}

// callersOf returns the principals of requests that can be callers.
func callersOf(requests []visibility.Request) (callers []caller) {
	for _, r := range requests {
		if c := (caller{r.User, r.Groups}); c.canAsk() {
			callers = append(callers, c)
		}
	}
	return callers
}

// permissions compares what a caller may do on each cluster with the decisions on it.
func (s *site) permissions(callers []caller) {
	s.Helper()
	at := s.IntN(len(callers))
	query := url.Values{"cluster": append([]string{"nowhere"}, viewClusters...)}
	status, text := s.sendAs(s.tokens[callers[at].key()], "GET", s.kept+"/api/v1/auth/permissions?"+query.Encode(), "", nil)
	if status != http.StatusOK {
		s.Fatalf("permissions: got %d %s", status, text)
	}
	got := members(members(decode(s.T, text))["clusters"])
	want := map[string]any{}
	for _, name := range query["cluster"] {
		cluster := map[string]any{"name": name}
		if labels, known := s.labels[name]; known {
			cluster["labels"] = labels
		}
		groups := append([]string{}, callers[at].groups...)
		d, _ := s.decide("visibility", map[string]any{"user": callers[at].user, "groups": groups, "cluster": cluster})
		if decided := members(d); decided["decision"] != "deny" {
			granted, level := decided["permissions"].([]any), "limited"
			slices.SortFunc(granted, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
			if decided["decision"] == "allow" && len(granted) == 2 { // view and viewMetrics
				level = "full"
			}
			want[name] = map[string]any{"permissions": granted, "access_level": level}
		}
	}
	s.same("permissions", callers[at].user, any(got), any(want))
}
