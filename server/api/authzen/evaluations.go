package authzen

import (
	"net/http"
	"strconv"

	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/decision"
)

// The semantics of several evaluations.
const (
	executeAll          = "execute_all"
	denyOnFirstDeny     = "deny_on_first_deny"
	permitOnFirstPermit = "permit_on_first_permit"
)

// Evaluations answers several evaluations by one revision, in order. Without any it
// answers like Evaluation.
func (a *API) Evaluations() http.HandlerFunc {
	return a.Service.InPieces(endpoint, func(r *http.Request, p decision.Policies, body decision.Value, b []byte, flush exchange.Flush) ([]byte, *exchange.Refusal) {
		if refused := checkObject(body); refused != nil {
			return b, refused
		}
		defaults, refused := tupleOf(body, tuple{})
		if refused != nil {
			return b, refused
		}
		items, semantic, refused := evaluationsOf(body)
		switch {
		case refused != nil:
			return b, refused
		case len(items) == 0:
			b, refused := a.appendEvaluation(r, p, defaults, b)
			return append(b, '\n'), refused
		}
		p = p.AtNow() // all of them are decided at one time
		b = append(b, `{"evaluations":[`...)
		for i, item := range items {
			if i > 0 {
				b = append(b, ',')
			}
			begin := len(b)
			b = a.appendItem(r, p, item, &defaults, b)
			permitted := b[begin+len(`{"decision":`)] == 't'
			if semantic == denyOnFirstDeny && !permitted || semantic == permitOnFirstPermit && permitted {
				break
			}
			var ok bool
			if b, ok = flush(b); !ok {
				return b, nil
			}
		}
		return append(b, "]}\n"...), nil
	})
}

// appendItem appends the answer to one of several evaluations. One that cannot be decided
// is denied.
func (a *API) appendItem(r *http.Request, p decision.Policies, item decision.Value, defaults *tuple, b []byte) []byte {
	begin := len(b)
	t, refused := tuple{}, exchange.BadRequest("", "an evaluation must be an object")
	if item.IsObject() {
		t, refused = tupleOf(item, *defaults)
	}
	if refused == nil {
		t.fallback = defaults
		if b, refused = a.appendEvaluation(r, p, t, b); refused == nil {
			return b
		}
	}
	b = append(b[:begin], `{"decision":false,"context":{"error":{"status":`...)
	b = append(strconv.AppendInt(b, int64(refused.Status), 10), `,"message":`...)
	return append(jsontext.AppendString(b, exchange.Line(refused.Message, exchange.MaxText)), "}}}"...)
}

// evaluationsOf reads the list of evaluations and the semantic.
func evaluationsOf(body decision.Value) (items []decision.Value, semantic string, refused *exchange.Refusal) {
	var f exchange.Reader
	semantic = executeAll
	for key, member := range body.Members() {
		switch key {
		case "evaluations":
			items = f.Elements(key, member)
		case "options":
			f.Under = "options."
			for key, option := range f.Object(key, member).Members() {
				if key == "evaluations_semantic" && !option.IsNull() {
					semantic = f.Text(key, option)
				}
			}
			f.Under = ""
		}
	}
	switch {
	case f.Refused != nil:
	case semantic != executeAll && semantic != denyOnFirstDeny && semantic != permitOnFirstPermit:
		f.Under = "options."
		f.Refuse("evaluations_semantic", executeAll+", "+denyOnFirstDeny+" or "+permitOnFirstPermit)
	case len(items) > exchange.MaxBatch:
		f.Refused = &exchange.Refusal{
			Status:  http.StatusRequestEntityTooLarge,
			Message: "a request must not have more than " + strconv.Itoa(exchange.MaxBatch) + " evaluations",
		}
	}
	return items, semantic, f.Refused
}
