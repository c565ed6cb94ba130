package hostile

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/tests/oracle/random"
	"github.com/writ-policy/writ/tests/oracle/visibility"
)

var visibilityAttack = &attack{
	target: "FuzzVisibility", decides: true,
	routes: []string{"POST /v1/decisions/visibility"},
	draw: func(d random.Source, s *site, _ string) *request {
		q := s.drawView(d)
		if d.Once(3) {
			return lines(post(d, "/v1/decisions/visibility", q.JSON()))
		}
		return post(d, "/v1/decisions/visibility", q.JSON())
	},
	judge: func(x *exchange) string {
		d, whole := x.view()
		q, ok := readView(x)
		want := visibility.Decision{Decision: "deny"}
		if ok && x.caller() != nil {
			want = x.site.sees(q)
		}
		if rank(d.Decision) > rank(want.Decision) {
			return "the decision is " + d.Decision + ", and must be " + want.Decision
		}
		for _, index := range d.Visible {
			if !slices.Contains(want.Visible, index) {
				return "an item is visible, and must not be"
			}
		}
		for name := range d.Aggregations {
			if _, there := want.Aggregations[name]; !there {
				return "an aggregation is visible, and must not be: " + name
			}
		}
		if whole && !x.edited && (d.Decision != want.Decision || len(d.Visible) != len(want.Visible)) {
			return "the decision is " + d.Decision + ", and is " + want.Decision
		}
		return ""
	},
}

// FuzzVisibility sends requests at the visibility point, with items in the body or one a
// line.
func FuzzVisibility(f *testing.F) { visibilityAttack.fuzz(f) }

func (s *site) drawView(d random.Source) visibility.Request {
	if s.seen == nil {
		s.seen = s.views.Requests(drawn)
	}
	q := s.seen[d.IntN(drawn)]
	s.now = q.Now
	return q
}

// sees is the oracle's decision on a request. The oracle reads metrics of the types that its
// own requests have; others are left out, which changes nothing about who may see what.
func (s *site) sees(q visibility.Request) (d visibility.Decision) {
	q.Now = s.now
	defer func() {
		if recover() != nil {
			q.Metrics, q.Aggregations = nil, nil
			d = s.views.Decide(q)
		}
	}()
	return s.views.Decide(q)
}

func rank(decision string) int {
	return slices.Index([]string{"", "deny", "partial", "allow"}, decision)
}

// lines sends the items of a request one a line.
func lines(r *request) *request {
	n, err := parse(r.body)
	if err != nil {
		panic(err) // as it was drawn
	}
	var list []*node
	if at := slices.Index(n.keys, "items"); at >= 0 {
		list = n.members[at].members
		n.keys, n.members = slices.Delete(n.keys, at, at+1), slices.Delete(n.members, at, at+1)
	}
	var b strings.Builder
	for _, line := range append([]*node{n}, list...) {
		line.write(&b, style{})
		b.WriteByte('\n')
	}
	r.body, r.header[0][1] = []byte(b.String()), linesMedia
	return r
}

const linesMedia = "application/x-ndjson"

// isLines reports whether the items of a request come one a line.
func (x *exchange) isLines() bool {
	media, _, _ := strings.Cut(x.sent.Header.Get("Content-Type"), ";")
	return strings.TrimSpace(media) == linesMedia
}

// view is the decision of an answer, and whether it is whole. A stream's first line has
// the authorization, and others the indexes of visible items.
func (x *exchange) view() (d visibility.Decision, whole bool) {
	whole = true
	for line := range strings.Lines(string(x.answer)) {
		part := visibility.Decision{}
		var failed struct{ Error any }
		if json.Unmarshal([]byte(line), &part) != nil || json.Unmarshal([]byte(line), &failed) != nil {
			return d, false
		}
		whole = whole && failed.Error == nil
		if part.Decision != "" {
			d.Decision = part.Decision
		}
		if part.Aggregations != nil {
			d.Aggregations = part.Aggregations
		}
		d.Visible = append(d.Visible, part.Visible...)
	}
	return d, whole
}

// readView is the naive reading of a request. A stream is read up to the line that is
// malformed: what is before it is answered.
func readView(x *exchange) (q visibility.Request, ok bool) {
	text := x.body
	var items []visibility.Item
	if x.isLines() {
		first, rest, _ := strings.Cut(string(x.body), "\n")
		for strings.TrimSpace(first) == "" && rest != "" {
			first, rest, _ = strings.Cut(rest, "\n")
		}
		text = []byte(first)
		for line := range strings.Lines(rest) {
			object := strict([]byte(line))
			if object == nil {
				if strings.TrimSpace(line) == "" {
					continue
				}
				break
			}
			var item visibility.Item
			if again(keep(object, "name", "namespace", "labels", "fields"), &item) != nil {
				break
			}
			items = append(items, item)
		}
	}
	if q, ok = viewOf(strict(text)); !ok {
		return q, false
	}
	if x.isLines() {
		if q.Items != nil {
			return q, false
		}
		q.Items = &items
	}
	return q, true
}

// keep deletes all keys but some.
func keep(object map[string]any, keys ...string) map[string]any {
	for key := range object {
		if !contains(keys, key) {
			delete(object, key)
		}
	}
	return object
}

// again decodes an object into a type.
func again(object map[string]any, to any) error {
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	return d.Decode(to)
}

var dashboardAttack = &attack{
	target: "FuzzDashboard",
	routes: []string{
		"GET /api/v1/auth/policies", "HEAD /api/v1/auth/policies", "GET /api/v1/auth/permissions", "HEAD /api/v1/auth/permissions",
		"GET /api/v1/custom-types", "HEAD /api/v1/custom-types", "POST /api/v1/auth/cache/clear",
	},
	draw: func(d random.Source, s *site, route string) *request {
		q := s.drawView(d)
		r := get(route)
		if strings.HasSuffix(route, "permissions") {
			r.query = url.Values{"cluster": {q.Cluster.Name + "c", "prod", "c1"}}.Encode()
		}
		r.from(d, "t-alice", "t-bob", "t-dev", "t-bot")
		return r
	},
	judge: func(x *exchange) string {
		own := x.caller()
		if own == nil {
			return "a caller without credentials is answered"
		}
		if x.sent.Method == "HEAD" {
			return ""
		}
		q := visibility.Request{User: own.name, Groups: own.groups, Now: x.site.now}
		switch {
		case strings.HasSuffix(x.sent.URL.Path, "permissions"):
			var answer struct {
				Names []string `json:"accessible_cluster_names"`
			}
			if json.Unmarshal(x.answer, &answer) != nil {
				return "the answer is not a list"
			}
			for _, name := range answer.Names {
				q.Action, q.Cluster.Name = "view", name
				if x.site.views.Decide(q).Decision == "deny" {
					return "the caller may not see the cluster " + name
				}
			}
		case strings.HasSuffix(x.sent.URL.Path, "custom-types"):
			var answer []struct{ ResourceTypeName string }
			if json.Unmarshal(x.answer, &answer) != nil {
				return "the answer is not a list"
			}
			types := x.site.views.Types(q)
			for _, kind := range answer {
				if _, there := types[kind.ResourceTypeName]; !there {
					return "the caller may not discover " + kind.ResourceTypeName
				}
			}
		default:
			if user, ok := x.decoded()["user"].(map[string]any); ok && user["username"] != own.name {
				return "the answer is about another caller"
			}
		}
		return ""
	},
}

// FuzzDashboard sends what dashboards ask, about callers.
func FuzzDashboard(f *testing.F) { dashboardAttack.fuzz(f) }

// get is a request without a body for a route.
func get(route string) *request {
	method, path, _ := strings.Cut(route, " ")
	return &request{method: method, path: path}
}
