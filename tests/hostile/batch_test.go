package hostile

import (
	"strings"
	"testing"

	"github.com/writ-policy/writ/tests/oracle/random"
	"github.com/writ-policy/writ/tests/oracle/visibility"
)

var accessBatchAttack = &attack{
	target: "FuzzAccessBatch", decides: true,
	routes: []string{"POST /v1/decisions/access/batch"},
	draw: func(d random.Source, s *site, _ string) *request {
		return batch(d, "access", func() string { return s.drawAccess(d).JSON() })
	},
	judge: judgeBatch(func(s *site, object map[string]any) bool {
		r, ok := accessOf(object)
		return ok && s.allows(r)
	}),
}

// FuzzAccessBatch sends several requests at the access point.
func FuzzAccessBatch(f *testing.F) { accessBatchAttack.fuzz(f) }

var gatewayBatchAttack = &attack{
	target: "FuzzGatewayBatch", decides: true,
	routes: []string{"POST /v1/decisions/gateway/batch"},
	draw: func(d random.Source, s *site, _ string) *request {
		return batch(d, "gateway", func() string { return s.drawGate(d).JSON() })
	},
	judge: judgeBatch(func(s *site, object map[string]any) bool {
		return object != nil && s.lets(ints(object).(map[string]any))
	}),
}

// FuzzGatewayBatch sends several requests at the gateway point.
func FuzzGatewayBatch(f *testing.F) { gatewayBatchAttack.fuzz(f) }

var visibilityBatchAttack = &attack{
	target: "FuzzVisibilityBatch", decides: true,
	routes: []string{"POST /v1/decisions/visibility/batch"},
	draw: func(d random.Source, s *site, _ string) *request {
		return batch(d, "visibility", func() string { return s.drawView(d).JSON() })
	},
	judge: judgeBatch(func(s *site, object map[string]any) bool {
		q, ok := viewOf(object)
		return ok && s.sees(q).Decision != "deny"
	}),
}

// FuzzVisibilityBatch sends several requests at the visibility point.
func FuzzVisibilityBatch(f *testing.F) { visibilityBatchAttack.fuzz(f) }

// batch is a request with a few requests, in a list or one a line.
func batch(d random.Source, point string, draw func() string) *request {
	var list []string
	for range 1 + d.IntN(6) {
		list = append(list, draw())
	}
	path := "/v1/decisions/" + point + "/batch"
	if d.Once(2) {
		return post(d, path, `{"requests":[`+strings.Join(list, ",")+`]}`)
	}
	r := post(d, path, strings.Join(list, "\n")+"\n")
	r.header[0][1] = linesMedia
	return r
}

// judgeBatch compares each decision with whether its request may be allowed.
func judgeBatch(may func(s *site, object map[string]any) bool) func(x *exchange) string {
	return func(x *exchange) string {
		asked, given := x.requests(), x.decisions()
		for i, d := range given {
			allowed := d["allowed"] == true || d["decision"] == "allow" || d["decision"] == "partial"
			var object map[string]any
			if i < len(asked) {
				object = asked[i]
			}
			switch mayBe := x.caller() != nil && may(x.site, object); {
			case allowed && !mayBe:
				return "a request of the batch is allowed, and must not be"
			case mayBe && !allowed && !x.edited:
				return "a request of the batch is denied, and may not be"
			}
		}
		if !x.edited && len(asked) != len(given) {
			return "the batch has another number of decisions"
		}
		return ""
	}
}

// requests is the naive reading of a batch; nil stands for one that is malformed.
func (x *exchange) requests() (list []map[string]any) {
	if x.isLines() {
		for line := range strings.Lines(string(x.body)) {
			if strings.TrimSpace(line) != "" {
				list = append(list, strict([]byte(line)))
			}
		}
		return list
	}
	object := strict(x.body)
	elements, _ := object["requests"].([]any)
	if !has(object, "requests") {
		return nil
	}
	for _, element := range elements {
		request, _ := element.(map[string]any)
		list = append(list, request)
	}
	return list
}

// decisions are those of the answer.
func (x *exchange) decisions() (list []map[string]any) {
	if !x.isLines() {
		elements, _ := x.decoded()["decisions"].([]any)
		for _, element := range elements {
			d, _ := element.(map[string]any)
			list = append(list, d)
		}
		return list
	}
	for line := range strings.Lines(string(x.answer)) {
		list = append(list, decodedObject([]byte(line)))
	}
	return list
}

// viewOf is the naive reading of one request at the visibility point.
func viewOf(object map[string]any) (q visibility.Request, ok bool) {
	if object == nil || !has(object, "user", "groups", "serviceAccount", "action", "cluster", "type", "items", "aggregations", "metrics") {
		return q, false
	}
	if account, ok := object["serviceAccount"].(map[string]any); ok {
		keep(account, "namespace", "name")
	}
	if cluster, ok := object["cluster"].(map[string]any); ok {
		keep(cluster, "name", "labels")
	}
	if list, ok := object["items"].([]any); ok {
		for _, item := range list {
			if item, ok := item.(map[string]any); ok {
				keep(item, "name", "namespace", "labels", "fields")
			}
		}
	}
	return q, again(object, &q) == nil
}
