package questions

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/writ-policy/writ/analysis/question"
	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/dates"
)

// members returns the members of a body, which has known ones only.
func members(body decision.Value, known ...string) (map[string]decision.Value, *exchange.Refusal) {
	if !body.IsObject() {
		return nil, exchange.BadRequest("", "the body is not a JSON object")
	}
	out := make(map[string]decision.Value)
	for key, value := range body.Members() {
		if !slices.Contains(known, key) {
			return nil, exchange.BadRequest(key, fmt.Sprintf("unknown field %q", key))
		}
		if !value.IsNull() {
			out[key] = value
		}
	}
	return out, nil
}

// keyAt is the member of a body with the time of the answer.
const keyAt = "at"

// timeOf returns the time of the answer: that of the body, or else that of the clock.
func timeOf(body decision.Value, clock func() time.Time) (time.Time, *exchange.Refusal) {
	if !body.IsObject() {
		return clock(), nil // which is refused where the body is read
	}
	for key, value := range body.Members() {
		if key != keyAt || value.IsNull() {
			continue
		}
		var f exchange.Reader
		text := f.Text(keyAt, value)
		if f.Refused != nil {
			return time.Time{}, f.Refused
		}
		at, err := dates.Parse(text)
		if err != nil {
			return at, exchange.BadRequest(keyAt, fmt.Sprintf("%q %s", keyAt, err))
		}
		return at, nil
	}
	return clock(), nil
}

// openable are the members of a request that a question may leave open.
var openable = append(question.Facts(), "name", "namespace", "verb", "apiGroup", "resource", "subresource", "path")

// whoCanOf reads the body of a question who can do something.
func whoCanOf(body decision.Value) (*question.Question, *exchange.Refusal) {
	given, refused := members(body, "request", "open", "potential", keyAt)
	if refused != nil {
		return nil, refused
	}
	q := &question.Question{Stated: map[string]any{}}
	if value, ok := given["potential"]; ok {
		var f exchange.Reader
		if q.Potential = f.Bool("potential", value); f.Refused != nil {
			return nil, f.Refused
		}
	}
	if request, ok := given["request"]; ok {
		if err := json.Unmarshal(request.Bytes(), &q.Stated); err != nil {
			return nil, exchange.BadRequest("request", `"request" must be an object`)
		}
	}
	for _, key := range []string{"user", "groups", "uid"} {
		if _, ok := q.Stated[key]; ok {
			return nil, exchange.BadRequest("request."+key, fmt.Sprintf("%q must be absent: the question is who", "request."+key))
		}
	}
	defaults := append(question.Facts(), "name")
	if q.Stated["path"] != nil {
		defaults = question.Facts()
	}
	if q.Open, refused = openOf(given, q.Stated, defaults); refused != nil {
		return nil, refused
	}
	return q, checkRequest(q)
}

// whatCanOf reads the body of a question what a subject can do.
func whatCanOf(body decision.Value) (*question.Question, *exchange.Refusal) {
	given, refused := members(body, "user", "groups", "namespace", "open", keyAt)
	if refused != nil {
		return nil, refused
	}
	var f exchange.Reader
	q := &question.Question{Stated: map[string]any{}}
	read := func(key string, into *string) {
		if value, ok := given[key]; ok {
			*into = f.Text(key, value)
		}
	}
	var namespace string
	read("user", &q.User)
	read("namespace", &namespace)
	if groups, ok := given["groups"]; ok {
		q.Groups = f.Texts("groups", groups)
	}
	if q.User == "" && len(q.Groups) == 0 {
		f.Refuse("user", "given, or groups: the question is what a subject can do")
	}
	if f.Refused != nil {
		return nil, f.Refused
	}
	defaults := question.Facts()
	if namespace != "" {
		q.Stated["namespace"] = namespace
	} else {
		defaults = append(defaults, "path")
	}
	if q.Open, refused = openOf(given, q.Stated, defaults); refused != nil {
		return nil, refused
	}
	for _, key := range []string{"verb", "apiGroup", "resource", "subresource", "name"} {
		if !slices.Contains(q.Open, key) {
			q.Open = append(q.Open, key)
		}
	}
	return q, nil
}

// openOf reads which members are open; without a list, defaults are, less those stated.
func openOf(given map[string]decision.Value, stated map[string]any, defaults []string) ([]string, *exchange.Refusal) {
	list, ok := given["open"]
	if !ok {
		return slices.DeleteFunc(slices.Clone(defaults), func(key string) bool {
			_, known := stated[key]
			return known
		}), nil
	}
	var f exchange.Reader
	open := f.Texts("open", list)
	if f.Refused != nil {
		return nil, f.Refused
	}
	for i, key := range open {
		field := fmt.Sprintf("open[%d]", i)
		if !slices.Contains(openable, key) {
			return nil, exchange.BadRequest(field, fmt.Sprintf("%s: unknown field %q", field, key))
		}
		if _, known := stated[key]; known {
			return nil, exchange.BadRequest(field, fmt.Sprintf("%s: %q has a value in the request", field, key))
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(open))), nil
}

// checkRequest checks what a question states as a request of the point access. Values
// stand for what is open.
func checkRequest(q *question.Question) *exchange.Refusal {
	whole := maps.Clone(q.Stated)
	whole["user"] = "someone"
	for key, value := range map[string]string{"verb": "get", "resource": "pods"} {
		if slices.Contains(q.Open, key) && whole["path"] == nil {
			whole[key] = value
		}
	}
	text := jsontext.Marshal(whole)
	point, _ := decision.FindPoint(decision.Access)
	if _, err := point.Decode(text, nil); err != nil {
		refused := exchange.InvalidBody(err)
		if refused.Field != "" {
			refused.Field = "request." + refused.Field
		}
		return refused
	}
	return nil
}
