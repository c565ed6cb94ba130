package gateway

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/tests/oracle"
)

// Decision is the answer at the gateway point.
type Decision struct {
	// Error is why the request is invalid; then everything else is empty.
	Error           string
	Allowed, Denied bool
	Status          int
	// Gateway and Route are the target; empty for a request without a path.
	Gateway, Route string
	Policies       []string
	Rules          map[string]string
	Warnings       []string
	// Matched are in the order of evaluation; the text has none.
	Matched []GateMatched
	// Deciding are the lines that decided, of Matched or without a rule that did.
	Deciding []GateMatched
	Response *GateResponse
	Headers  map[string]string
	Metadata map[string]any
}

// GateMatched is a rule that decided.
type GateMatched struct{ Kind, Namespace, Name, Rule, Source string }

// GateResponse is the response to a denied client.
type GateResponse struct {
	Code          int
	Message, Body string
	Headers       map[string]string
}

// Decide answers one request.
func (w *World) Decide(r *Request) Decision {
	paths, problem := w.take(r)
	if problem != "" {
		return Decision{Error: string(problem)}
	}
	if len(paths) == 0 {
		d := newDecision(404)
		d.Deciding = []GateMatched{w.nearest(r)}
		return d
	}
	var all, refusing []Decision
	var routes []string
	for _, path := range paths {
		d := w.decide(path, r)
		all = append(all, d)
		if !d.Allowed {
			refusing = append(refusing, d)
		}
		routes = append(routes, path.Route.target())
	}
	if len(refusing) == 0 {
		refusing = all
	}
	d := refusing[0]
	for _, other := range refusing[1:] {
		d.Matched = append(d.Matched, other.Matched...)
		d.Deciding = append(d.Deciding, other.Deciding...)
	}
	if len(routes) > 1 {
		d.Warnings = []string{"route-conflict: " + strings.Join(routes, ", ")}
	}
	return d
}

// nearest is the listener that a request without a path would be on, else the gateway.
func (w *World) nearest(r *Request) GateMatched {
	gateway, _ := w.entered(r)
	at := GateMatched{"Gateway", gateway.Namespace, gateway.Name, "", gateway.Place}
	if l, _ := gateway.listener(r, func(*Listener) bool { return true }); l != nil {
		at.Rule, at.Source = l.Name, l.Place
	}
	return at
}

func newDecision(status int) Decision {
	return Decision{Status: status, Rules: map[string]string{}, Headers: map[string]string{}, Metadata: map[string]any{}}
}

// decide answers a request that takes one path.
func (w *World) decide(path Path, r *Request) Decision {
	d := newDecision(200)
	f := w.fold(path, "AuthPolicy")
	d.Gateway, d.Route = path.gateway(), path.route()
	d.Deciding = []GateMatched{{path.Route.kind(), path.Route.Namespace, path.Route.Name, path.Route.rule(path.Rule), path.Route.Rules[path.Rule].Place}}
	for _, source := range f.Sources {
		d.Policies = append(d.Policies, source.locator())
	}
	slices.Sort(d.Policies)
	d.Policies = slices.Compact(d.Policies)

	identity := in(r.Input, "auth", "identity")
	seen := r.seen(identity, map[string]any{})
	if f.empty() || f.Rules["when"] != nil && !f.applies(plainValue(f.Rules["when"]), seen) {
		if !f.empty() {
			d.Deciding = []GateMatched{f.at("when")}
		}
		d.Allowed = true
		return d
	}
	if identity == nil {
		if !f.letsAnyone(seen) {
			d.Deciding = f.authentication()
			f.deny(&d, 401, "unauthenticated", seen)
			return d
		}
		seen = r.seen(map[string]any{"anonymous": true}, map[string]any{})
	}
	if f.authorize(w, &d, seen, r); d.Denied {
		f.deny(&d, 403, "unauthorized", seen)
		return d
	}
	d.Allowed = true
	f.addItems(&d, seen)
	return d
}

// below are the names of the rules of a group.
func (f *Fold) below(group string) []string {
	var names []string
	for key := range f.Rules {
		if name, ok := strings.CutPrefix(key, group); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// at is a rule in force with its policy and its line.
func (f *Fold) at(key string) GateMatched {
	p := f.Sources[key]
	return GateMatched{p.Kind, p.Namespace, p.Name, key, *f.blocks[key].Places[key]}
}

func (f *Fold) authentication() (all []GateMatched) {
	for _, name := range f.below("rules.authentication.") {
		all = append(all, f.at("rules.authentication."+name))
	}
	return all
}

// letsAnyone reports whether one who is not authenticated may go on.
func (f *Fold) letsAnyone(seen any) bool {
	names := f.below("rules.authentication.")
	for _, name := range names {
		rule := keysOf(plainValue(f.Rules["rules.authentication."+name]))
		if rule["anonymous"] != nil && f.applies(rule["when"], seen) {
			return true
		}
	}
	return len(names) == 0
}

// applies reports whether the rule of a request-time condition applies: one that fails
// is not skipped.
func (f *Fold) applies(when any, seen any) bool {
	judged := f.all(when, seen)
	return judged == holds || judged == failed
}

// all judges a list of conditions, which may be absent.
func (f *Fold) all(list any, seen any) judged {
	result := holds
	for _, item := range itemsOf(list) {
		result = both(result, f.judge(keysOf(item), seen))
	}
	return result
}

func (f *Fold) judge(item map[string]any, seen any) judged {
	switch {
	case item["predicate"] != nil:
		judged := predicates[text(item["predicate"])](seen)
		if judged == missing {
			return fails
		}
		return judged
	case item["patternRef"] != nil:
		return f.all(keysOf(plainValue(f.Rules["patterns."+text(item["patternRef"])]))["allOf"], seen)
	case item["all"] != nil:
		return f.all(item["all"], seen)
	case item["any"] != nil:
		result := fails
		for _, one := range itemsOf(item["any"]) {
			result = either(result, f.judge(keysOf(one), seen))
		}
		return result
	}
	return truth(compares(text(item["operator"]), selected(text(item["selector"]), seen), text(item["value"])))
}

// authorize evaluates the authorization rules and denies if one of them does.
func (f *Fold) authorize(w *World, d *Decision, seen map[string]any, r *Request) {
	rules := map[int][]string{}
	for _, name := range f.below("rules.authorization.") {
		priority := number(keysOf(plainValue(f.Rules["rules.authorization."+name]))["priority"])
		rules[priority] = append(rules[priority], name)
	}
	for _, priority := range slices.Sorted(maps.Keys(rules)) {
		for _, name := range rules[priority] {
			key := "rules.authorization." + name
			rule := keysOf(plainValue(f.Rules[key]))
			if rule["when"] != nil && !f.applies(rule["when"], seen) {
				d.Rules[key] = "skip"
				continue
			}
			d.Rules[key] = f.evaluate(w, name, rule, seen, r)
			d.Denied = d.Denied || d.Rules[key] != "allow"
		}
		if d.Denied {
			break
		}
	}
	var skipped []GateMatched
	for _, priority := range slices.Sorted(maps.Keys(rules)) {
		for _, name := range rules[priority] {
			key := "rules.authorization." + name
			switch said := d.Rules[key]; {
			case said == "skip":
				skipped = append(skipped, f.at(key))
			case said != "" && d.Denied == (said != "allow"):
				d.Matched = append(d.Matched, f.at(key))
			}
		}
	}
	for _, by := range [][]GateMatched{d.Matched, skipped, f.authentication()} {
		if len(by) > 0 {
			d.Deciding = by
			break
		}
	}
}

func (f *Fold) evaluate(w *World, name string, rule, seen map[string]any, r *Request) string {
	allow := false
	switch {
	case rule["patternMatching"] != nil:
		judged := f.all(in(rule, "patternMatching", "patterns"), seen)
		if judged == failed {
			return "error"
		}
		allow = judged == holds
	case rule["opa"] != nil:
		values := bodies[text(in(rule, "opa", "rego"))](seen)
		allow = values["allow"] == true
		if in(rule, "opa", "allValues") != true {
			values = map[string]any{"allow": allow}
		}
		// What a rule leaves behind where it denies, is not said: as in Authorino, nothing.
		if allow {
			in(seen, "auth", "authorization").(map[string]any)[name] = values
		}
	default:
		allow = w.World.Decide(review(keysOf(rule["kubernetesSubjectAccessReview"]), seen, r)).Allowed
	}
	if allow {
		return "allow"
	}
	return "deny"
}

// review is the access request of a kubernetesSubjectAccessReview.
func review(rule map[string]any, seen any, r *Request) oracle.Request {
	user := resolved(rule["user"], seen)
	request := oracle.Request{User: asText(user), Verb: strings.ToLower(r.text("method")), Path: r.urlPath()}
	groups := itemsOf(rule["groups"])
	switch more := resolved(rule["authorizationGroups"], seen).(type) {
	case nil:
	case []any:
		groups = slices.Concat(groups, more)
	default: // not said; as with incl, a list of one
		groups = append(slices.Clone(groups), more)
	}
	for _, group := range groups {
		request.Groups = append(request.Groups, asText(group))
	}
	if attributes := keysOf(rule["resourceAttributes"]); attributes != nil {
		request.Path = ""
		for key, field := range map[string]*string{
			"verb": &request.Verb, "group": &request.APIGroup, "resource": &request.Resource, "subresource": &request.Subresource,
			"namespace": &request.Namespace, "name": &request.Name,
		} {
			*field = asText(resolved(attributes[key], seen))
		}
	}
	return request
}

// resolved is a value, a selector or an expression, nil if missing.
func resolved(value any, seen any) any {
	v := keysOf(value)
	switch {
	case v["selector"] != nil:
		return template(text(v["selector"]), seen)
	case v["expression"] != nil:
		return computed[text(v["expression"])](seen)
	}
	return v["value"]
}

// deny fills in a denial, with the response that the policy gives it.
func (f *Fold) deny(d *Decision, code int, name string, seen any) {
	response := keysOf(plainValue(f.Rules["rules.response."+name]))
	if own := number(response["code"]); own != 0 {
		code = own
	}
	d.Denied, d.Status = true, code
	d.Response = &GateResponse{
		Code: code, Message: asText(resolved(response["message"], seen)), Body: asText(resolved(response["body"], seen)),
		Headers: map[string]string{},
	}
	for name, value := range keysOf(response["headers"]) {
		d.Response.Headers[name] = asText(resolved(value, seen))
	}
}

// addItems fills in what is added to an allowed request.
func (f *Fold) addItems(d *Decision, seen any) {
	for _, name := range f.below("rules.response.success.headers.") {
		if name, value, there := f.item("headers", name, seen); there {
			d.Headers[name] = asText(value)
		}
	}
	for _, name := range f.below("rules.response.success.filters.") {
		if name, value, there := f.item("filters", name, seen); there {
			d.Metadata[name] = value
		}
	}
}

// item is a success item: the name it goes under and its value.
func (f *Fold) item(group, name string, seen any) (key string, value any, there bool) {
	item := keysOf(plainValue(f.Rules[fmt.Sprintf("rules.response.success.%s.%s", group, name)]))
	// A wristband is not carried out.
	if item["wristband"] != nil || !f.applies(item["when"], seen) {
		return "", nil, false
	}
	if own := text(item["key"]); own != "" {
		name = own
	}
	if properties := keysOf(in(item, "json", "properties")); item["json"] != nil {
		object := map[string]any{}
		for property, value := range properties {
			object[property] = resolved(value, seen)
		}
		return name, object, true
	}
	return name, resolved(item["plain"], seen), true
}
