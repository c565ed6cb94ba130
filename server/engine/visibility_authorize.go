package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/writ-policy/writ/server/decision"
)

var (
	keyServiceAccount = ast.StringTerm("serviceAccount")
	keyType           = ast.StringTerm("type")
)

var errAuthorization = errors.New("the visibility policies returned a malformed answer")

// askAuthorization evaluates the authorization in OPA. It returns an error if the
// evaluation fails or the answer is malformed.
func (e *Engine) askAuthorization(ctx context.Context, r *decision.VisibilityRequest, now time.Time) (decision.Authorization, error) {
	value, err := e.run(ctx, "", &e.queries.authorization, ast.NewObject(authorizationInput(r)...), now)
	if err != nil {
		return decision.Authorization{}, err
	}
	answer, err := ast.JSON(value)
	if err != nil {
		return decision.Authorization{}, err
	}
	return readAuthorization(answer)
}

// authorizationInput returns the members of the canonical request without items and
// numbers.
func authorizationInput(r *decision.VisibilityRequest) [][2]*ast.Term {
	return [][2]*ast.Term{
		{keyUser, text(r.User)}, {keyGroups, list(r.Groups)},
		{keyServiceAccount, ast.ObjectTerm(
			[2]*ast.Term{keyNamespace, text(r.ServiceAccount.Namespace)}, [2]*ast.Term{keyName, text(r.ServiceAccount.Name)},
		)},
		{keyAction, text(r.Action)}, {keyType, text(r.Type)},
		{keyCluster, ast.ObjectTerm(
			[2]*ast.Term{keyName, text(r.Cluster.Name)}, [2]*ast.Term{keyLabels, object(r.Cluster.Labels, text)},
		)},
	}
}

// readAuthorization reads the answer. It returns an error if the answer is malformed, or
// grants something without naming its policy.
func readAuthorization(answer any) (a decision.Authorization, err error) {
	o, _ := answer.(map[string]any)
	var ok [6]bool
	a.Decision, ok[0] = o["decision"].(string)
	a.Policy, ok[1] = o["policy"].(string)
	a.Reason, ok[2] = o["reason"].(string)
	a.Filters, ok[3] = o["filters"].(map[string]any)
	a.Permissions, ok[4] = readTexts(o["permissions"])
	a.Matched, ok[5] = readPolicies(o["matched"])
	if ok != [6]bool{true, true, true, true, true, true} {
		return a, errAuthorization
	}
	switch a.Decision {
	case decision.VisibleAll, decision.VisibleSome:
		if len(a.Matched) != 1 {
			return a, errAuthorization
		}
	case decision.VisibleNone:
		if len(a.Permissions)+len(a.Filters) > 0 {
			return a, errAuthorization
		}
	default:
		return a, errAuthorization
	}
	return a, nil
}

func readTexts(value any) ([]string, bool) {
	list, ok := value.([]any)
	texts := make([]string, len(list))
	for i, element := range list {
		text, isText := element.(string)
		texts[i], ok = text, ok && isText
	}
	return texts, ok
}

func readPolicies(value any) ([]decision.Matched, bool) {
	list, ok := value.([]any)
	matched := make([]decision.Matched, len(list))
	for i, element := range list {
		o, _ := element.(map[string]any)
		m, whole := &matched[i], false
		if m.Rule, whole = readInteger(o["rule"]); !whole {
			return nil, false
		}
		for key, to := range map[string]*string{"kind": &m.Kind, "namespace": &m.Namespace, "name": &m.Name, "source": &m.Source} {
			text, isText := o[key].(string)
			*to, ok = text, ok && isText
		}
	}
	return matched, ok
}

func readInteger(value any) (int, bool) {
	number, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(string(number))
	return n, err == nil
}
