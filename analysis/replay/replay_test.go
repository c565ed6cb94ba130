package replay

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/server/decision"
)

// byName decides by the name of the user: allow-x is allowed.
func byName(prefix string) Decider {
	return func(_ context.Context, _ time.Time, _ string, q decision.Question) (statement.Verdict, error) {
		v := statement.Verdict{Outcome: "none", Decision: []byte(`{"reason":"r","matched":[]}`)}
		if strings.HasPrefix(q.Principal(), prefix) {
			v.Outcome = "allow"
		}
		return v, nil
	}
}

func events(n int) string {
	var out strings.Builder
	for i := range n {
		user := fmt.Sprintf("%s-%d", []string{"allow", "other"}[i%2], i%7)
		fmt.Fprintf(&out, `{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"%d","verb":"get","user":{"username":"%s"},`+
			`"objectRef":{"resource":"pods","namespace":"ns-%d"},"requestReceivedTimestamp":"2026-01-01T00:00:%02dZ","annotations":{"authorization.k8s.io/decision":"allow"}}`+"\n",
			i, user, i%3, i%60)
	}
	return out.String()
}

func mustRun(t *testing.T, o Options, logs ...string) *Report {
	t.Helper()
	var list []Log
	for _, text := range logs {
		list = append(list, Log{"log", strings.NewReader(text)})
	}
	r, err := Run(t.Context(), list, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestShardsAddUpToTheWhole(t *testing.T) {
	log := events(3000) + "{broken\n"
	whole := mustRun(t, Options{Decide: byName("allow")}, log)
	var parts []*Report
	for i := range 3 {
		part := mustRun(t, Options{Decide: byName("allow"), Shard: i, Shards: 3}, log)
		if part.Events == whole.Events {
			t.Errorf("shard %d has all events", i)
		}
		parts = append(parts, part)
	}
	merged, err := Merge(parts)
	if err != nil {
		t.Fatal(err)
	}
	got, want := jsonOf(t, merged), jsonOf(t, whole)
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if whole.Events != 3001 || whole.Replayed != 3000 || whole.Skipped[skipMalformed] != 1 || whole.Unchanged != 1500 {
		t.Errorf("got %+v", whole)
	}
}

func jsonOf(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestForms(t *testing.T) {
	lines := events(4)
	list := "[" + strings.Join(strings.Split(strings.TrimSpace(lines), "\n"), ",") + "]"
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write([]byte(lines)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want := mustRun(t, Options{Decide: byName("allow")}, lines)
	for name, log := range map[string]string{
		"a list": list, "items": `{"kind":"EventList","items":` + list + `}`, "decisions": "{\n \"decisions\": " + list + "\n}", "gzip": zipped.String(),
	} {
		if got := mustRun(t, Options{Decide: byName("allow")}, log); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

func TestRecords(t *testing.T) {
	rows := map[string]struct{ line, skipped, outcome string }{
		"a request":            {`{"user":"a","verb":"get","resource":"pods"}`, "", ""},
		"writ's own":           {`{"request":{"user":"a","verb":"get","resource":"pods"},"decision":{"allowed":true}}`, "", "allow"},
		"another path":         {`{"decision_id":"1","path":"http/authz/allow","input":{}}`, skipPath, ""},
		"a decision log":       {`{"decision_id":"1","path":"/v1/data/writ/access/decision","input":{"user":"a","verb":"get","resource":"pods"},"result":{"denied":true}}`, "", "deny"},
		"a masked input":       {`{"decision_id":"1","path":"writ/access/decision","input":{},"masked":["/input/user"]}`, skipMasked, ""},
		"no annotation":        {`{"kind":"Event","apiVersion":"audit.k8s.io/v1","verb":"get","user":{"username":"a"},"requestURI":"/x"}`, skipAnnotation, ""},
		"an invalid request":   {`{"user":"a","verb":"get"}`, skipInvalid, ""},
		"what is not JSON":     {`{`, skipMalformed, ""},
		"what is not UTF-8":    {`{"user":"a` + "\xff" + `","verb":"get","resource":"pods"}`, skipMalformed, ""},
		"an event of a number": {`{"kind":"Event","apiVersion":"audit.k8s.io/v1","verb":7}`, skipMalformed, ""},
		"a path with a query":  {`{"kind":"Event","apiVersion":"audit.k8s.io/v1","verb":"get","user":{"username":"a"},"requestURI":"/x?y","annotations":{"authorization.k8s.io/decision":"forbid"}}`, "", forbidden},
		"an impersonated user": {`{"kind":"Event","apiVersion":"audit.k8s.io/v1","verb":"get","user":{"username":"b"},"impersonatedUser":{"username":"a"},"requestURI":"/x","annotations":{"authorization.k8s.io/decision":"allow"}}`, "", "allow"},
	}
	for name, row := range rows {
		r := parse([]byte(row.line))
		if r.skip != row.skipped {
			t.Errorf("%s: got %q, want %q", name, r.skip, row.skipped)
			continue
		}
		if r.skip == "" && (r.outcome != row.outcome || r.user != "a") {
			t.Errorf("%s: got %q by %q, want %q", name, r.outcome, r.user, row.outcome)
		}
	}
}

// The subject of a request without a user is its groups.
func TestSubjects(t *testing.T) {
	const log = `{"request":{"user":"","groups":["dev","ops"],"verb":"get","resource":"pods"},"decision":{"allowed":true}}
{"request":{"user":"u","groups":["dev"],"verb":"get","resource":"pods"},"decision":{"allowed":true}}
`
	r := mustRun(t, Options{Decide: byName("allow")}, log+"{broken\n")
	if len(r.Changed) != 1 || !reflect.DeepEqual(r.Changed[0].Subjects, Subjects{3, []string{"group:dev", "group:ops", "user:u"}, false}) {
		t.Errorf("got %+v", r.Changed)
	}
	if text := r.Text(); !strings.Contains(text, "\nMalformed: log:3.\n") {
		t.Errorf("got %s", text)
	}
}

func TestEmptyLog(t *testing.T) {
	_, err := Run(t.Context(), []Log{{"log", strings.NewReader("")}}, Options{Decide: byName("allow")})
	if !errors.Is(err, ErrEmptyLog) {
		t.Errorf("got %v, want ErrEmptyLog", err)
	}
}

func TestStagesCountOnce(t *testing.T) {
	log := events(1)
	r := mustRun(t, Options{Decide: byName("allow")}, log+log)
	if r.Replayed != 1 || r.Skipped[skipRepeated] != 1 {
		t.Errorf("got %+v", r)
	}
}

// A record whose request has items is not a list, also without an end of its line.
func TestRecordsWithItemsAreRecords(t *testing.T) {
	const request = `{"user":"allow","action":"view","cluster":{"name":"c"},"type":"pods","items":[{"name":"p"}]}`
	for _, log := range []string{
		`{"point":"visibility","request":` + request + `,"decision":{"decision":"allow","visible":[0]}}`,
		`{"decision":{"decision":"allow","visible":[0]},"items":[],"point":"visibility","request":` + request + `}`,
	} {
		if r := mustRun(t, Options{Decide: byName("allow")}, log); r.Replayed != 1 {
			t.Errorf("got %+v for %s", r, log)
		}
	}
}

// A malformed element of a list is shown with its line, and lines are in their order.
func TestMalformedHasItsLine(t *testing.T) {
	log := "{\"kind\": \"EventList\",\n \"items\": [\n" + strings.ReplaceAll(strings.TrimSpace(events(10)), "\n", ",\n")
	log = strings.ReplaceAll(log, `"auditID":"1"`, `"auditID":1`)
	log = strings.ReplaceAll(log, `"auditID":"9"`, `"auditID":9`) + "\n]}"
	if r := mustRun(t, Options{Decide: byName("allow")}, log); !reflect.DeepEqual(r.Malformed, []string{"log:4", "log:12"}) {
		t.Errorf("got %v", r.Malformed)
	}
}

// Events are those of the window, whether or not they are replayed.
func TestWindowBoundsSkippedEvents(t *testing.T) {
	log := events(3) + strings.ReplaceAll(events(3), "annotations", "other")
	since := time.Date(2026, 1, 1, 0, 0, 1, 0, time.UTC)
	r := mustRun(t, Options{Decide: byName("allow"), Since: since, Until: since}, log+`{"user":"a","verb":"get","resource":"pods"}`+"\n{broken\n")
	if want := map[string]int{skipAnnotation: 1, skipMalformed: 1}; r.Events != 3 || !reflect.DeepEqual(r.Skipped, want) {
		t.Errorf("got %d events, skipped %v", r.Events, r.Skipped)
	}
}

// The first stage of an event is that of the log, whichever batch is parsed first.
func TestFirstStageIsThatOfTheLog(t *testing.T) {
	stage := func(decision string) string {
		return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"one","verb":"get","user":{"username":"allow"},"objectRef":{"resource":"secrets"},"annotations":{"authorization.k8s.io/decision":%q}}`+"\n", decision)
	}
	for range 20 {
		r := mustRun(t, Options{Decide: byName("allow")}, events(batchSize-1)+stage("forbid")+stage("allow"))
		if n := len(r.Changed); n == 0 || r.Changed[0].Change != "gain" || r.Skipped[skipRepeated] != 1 {
			t.Fatalf("got %+v", r)
		}
	}
}

// A shard may have no event; all shards together may not.
func TestEmptyShards(t *testing.T) {
	part := mustRun(t, Options{Decide: byName("allow"), Shards: 2}, `{"kind":"Event","apiVersion":"audit.k8s.io/v1","verb":"get"}`+"\n{broken\n")
	other := mustRun(t, Options{Decide: byName("allow"), Shards: 2, Shard: 1}, `{"kind":"Event","apiVersion":"audit.k8s.io/v1","verb":"get"}`+"\n{broken\n")
	if part.Events+other.Events != 2 || part.Replayed != 0 {
		t.Errorf("got %+v and %+v", part, other)
	}
	if _, err := Merge([]*Report{part, other}); !errors.Is(err, ErrEmptyLog) {
		t.Errorf("got %v, want ErrEmptyLog", err)
	}
}

// Every subject is listed, in any order of the log; of very many the first ones are, and the
// report states that there are more.
func TestListedSubjects(t *testing.T) {
	for _, row := range []struct {
		n, want int
		more    bool
		text    string
	}{
		{1000, 1000, false, "user:u00005 and 995 more, -o json lists them"},
		{maxSubjects, maxSubjects, false, "user:u00005 and 9995 more, -o json lists them"},
		{maxSubjects + 100, maxSubjects, true, "user:u00005 and at least 9996 more, -o json lists 10000"},
	} {
		var log strings.Builder
		for i := range row.n {
			fmt.Fprintf(&log, `{"request":{"user":"u%05d","verb":"get","resource":"pods","groups":[]},"decision":{"allowed":true}}`+"\n", row.n-i)
		}
		subjects := mustRun(t, Options{Decide: byName("allow")}, log.String()).Changed[0].Subjects
		if subjects.Total != row.want || len(subjects.Principals) != row.want || subjects.More != row.more || subjects.Principals[0] != "user:u00001" {
			t.Errorf("%d: got %d of %d, more: %v", row.n, len(subjects.Principals), subjects.Total, subjects.More)
		}
		if text := subjects.text(); !strings.HasSuffix(text, row.text) {
			t.Errorf("got %s", text)
		}
	}
}

// The text of a change names what was asked for at each point.
func TestWhat(t *testing.T) {
	for want, c := range map[string]Change{
		"list deployments.apps/scale": {Point: "access", Verb: "list", APIGroup: "apps", Resource: "deployments/scale"},
		"get /metrics":                {Point: "access", Verb: "get", Path: "/metrics"},
		"see pods":                    {Point: "visibility", Type: "pods"},
		"see the cluster":             {Point: "visibility"},
		"requests to g > r":           {Point: "gateway", Target: "g > r"},
		"requests without a route":    {Point: "gateway"},
	} {
		if got := c.what(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Of a list, the URI of an audit event has the selectors, which decide alone.
func TestSelectorsOfAuditEvents(t *testing.T) {
	event := `{"kind":"Event","apiVersion":"audit.k8s.io/v1","verb":"@verb","user":{"username":"system:node:n"},"requestURI":"@uri",` +
		`"objectRef":{"resource":"pods","namespace":"shop"},"annotations":{"authorization.k8s.io/decision":"allow"}}`
	for _, row := range []struct{ verb, uri, want string }{
		{"list", "/api/v1/namespaces/shop/pods?labelSelector=tier%3Dgold%2C%21old&limit=500", `{"labelSelector":[{"key":"old","operator":"DoesNotExist","values":[]},{"key":"tier","operator":"In","values":["gold"]}]}`},
		{"watch", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn", `{"fieldSelector":[{"key":"spec.nodeName","operator":"In","values":["n"]}]}`},
		{"deletecollection", "/api/v1/pods?labelSelector=a&labelSelector=b&labelSelector=", `{"labelSelector":[{"key":"a","operator":"Exists","values":[]}]}`},
		{"list", "/api/v1/pods?labelSelector=n%3E3%2Ca", `{"labelSelector":[{"key":"a","operator":"Exists","values":[]}]}`},
		{"list", "/api/v1/pods", "{}"},
		{"watch", "/api/v1/watch/pods?labelSelector=a", "{}"},
		{"get", "/api/v1/pods?labelSelector=a", "null"},
		{"list", "/api/v1/pods?labelSelector=%3D%3D", "unknown"},
		{"list", "/api/v1/pods?labelSelector=%zz", "unknown"},
		{"list", "", "unknown"},
	} {
		r := parse([]byte(strings.NewReplacer("@verb", row.verb, "@uri", row.uri).Replace(event)))
		got := "unknown"
		if request := r.question.(*decision.Request); r.selects || row.verb == "get" {
			got = jsonOf(t, request.Attributes)
		}
		if got != row.want {
			t.Errorf("%s %s: got %s, want %s", row.verb, row.uri, got, row.want)
		}
	}
}

// What a list is decided by is certain if its selectors are known.
func TestListsAreCertain(t *testing.T) {
	event := `{"kind":"Event","apiVersion":"audit.k8s.io/v1","verb":"list","user":{"username":"@user"},"requestURI":"@uri",` +
		`"objectRef":{"resource":"pods"},"annotations":{"authorization.k8s.io/decision":"allow"}}`
	for _, row := range []struct{ user, uri, restriction, want string }{
		{"a", "/api/v1/pods", "labelsContain", ""},
		{"a", "", "labelsContain", "labels"},
		{"a", "/api/v1/pods", "fieldsSelect", ""},
		{"a", "/api/v1/pods?labelSelector=%3D", "fieldsSelect", "fields"},
		{"system:node:n", "/api/v1/pods", "sameMinionRestriction", ""},
		{"a", "/api/v1/pods", "sameMinionRestriction", "attributes"},
	} {
		r := parse([]byte(strings.NewReplacer("@user", row.user, "@uri", row.uri).Replace(event)))
		v := statement.Verdict{Outcome: "none", Decision: []byte(`{"warnings":["RoleBinding b rule 0: ` + row.restriction + ` undecidable: x"]}`)}
		_, facts := (&Options{Facts: statement.Facts{Labels: []map[string]string{{}}, Complete: true}}).lacking(r, v, v)
		got := ""
		if len(facts) > 0 {
			got = facts[0].name
		}
		if got != row.want {
			t.Errorf("%s by %q, %s: got %q, want %q", row.uri, row.user, row.restriction, got, row.want)
		}
	}
}

// A deferred decision is not that of a revision alone.
func TestFidelityLeavesOutDeferred(t *testing.T) {
	const event = `{"decision_id":"1","path":"writ/access/decision","timestamp":"2026-01-01T00:00:00Z","input":{"user":"other","verb":"update","resource":"pods"},"result":{"allowed":true,"denied":false%s}}` + "\n"
	for more, want := range map[string]Fidelity{"": {0, 1}, `,"deferred":true`: {0, 0}} {
		if r := mustRun(t, Options{Decide: byName("allow")}, fmt.Sprintf(event, more)); r.Fidelity != want || r.Replayed != 1 {
			t.Errorf("%q: got %+v, want %+v", more, r, want)
		}
	}
}
