package roads

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/oracle"
	"github.com/writ-policy/writ/tests/oracle/access"
	"github.com/writ-policy/writ/tests/oracle/random"
)

// worlds is how many random directories of a point are served.
func worlds() int { return gate.Times(3) / 2 }

// requestsPerState is how many requests are asked of one state of a directory at one time.
const requestsPerState = 8

// accessClusters are in the clusters file; others that requests name are not.
var accessClusters = []string{"prod-eu.1", "prod-us", "dev", "prod-1"}

// All roads to a decision at the access point agree with it: at random times around the ends of
// documents and sessions, before and after an edit.
func TestAccessRoadsAgree(t *testing.T) {
	t.Parallel()
	counts := make(map[string]int)
	for seed := gate.Seed(); seed < gate.Seed()+uint64(worlds()); seed++ {
		files, world := access.GenerateDated(seed)
		edited, after := access.GenerateRedated(seed)
		requests, instants := world.Requests(200), access.Instants(world, after)
		var callers []caller
		for _, r := range requests {
			if c := (caller{r.User, r.Groups}); c.canAsk() {
				callers = append(callers, c)
			}
		}
		s := newSite(t, seed, accessClusters, files, callers...)
		s.counts = counts
		s.at(instants[0])
		for state, documents := range []map[string]string{files, edited, files} {
			s.edit(documents)
			s.sameInLog("access")
			for range 4 {
				s.at(instants[s.IntN(len(instants))])
				var asked []map[string]any
				for range requestsPerState {
					r := requests[s.IntN(len(requests))]
					if state == 0 { // later states ask again what is kept
						r = requests[s.IntN(len(requests)/4)]
					}
					q := members(decode(t, []byte(r.JSON())))
					if r.Valid() != nil {
						s.sameRefused("access", q)
						continue
					}
					asked = append(asked, q)
					s.accessRoads(q, r)
					s.sameForNeighbors(q, members(decode(t, []byte(requests[s.IntN(len(requests))].JSON()))))
				}
				s.sameInBatches("access", asked)
				s.sameOnCommandLine("access", asked)
				s.sameReplayed("access", asked)
			}
		}
	}
	t.Log(counts)
	(&site{T: t}).check(counts, "access",
		"access neighbor", "access filter", "access compile", "evaluation", "evaluations", "review", "Origin review", "who-can")
}

// accessRoads asks for a decision by each road that can state the request.
func (s *site) accessRoads(q map[string]any, r oracle.Request) {
	s.Helper()
	want, valid := s.decide("access", q)
	if !valid {
		s.Errorf("%s is not valid: %s", encode(q), want)
		return
	}
	s.sameOnRoads("access", q, want)
	s.accessFilters(q, want)
	s.whoCan(q)
	s.evaluation(q)
	s.review(r)
	if c := (caller{r.User, r.Groups}); c.canAsk() {
		s.originReview(r)
		s.rulesReview(c, r.Namespace)
	}
}

// sameForNeighbors asks for requests that differ from one that is kept in a member of another, and in the
// namespace: a cache whose keys lack the member would answer them alike.
func (s *site) sameForNeighbors(q, other map[string]any) {
	s.Helper()
	var neighbors []map[string]any
	for _, key := range slices.Sorted(maps.Keys(with(q, other))) {
		if !reflect.DeepEqual(q[key], other[key]) {
			neighbors = append(neighbors, with(q, map[string]any{key: other[key]}))
		}
	}
	for _, namespace := range random.Namespaces {
		neighbors = append(neighbors, with(q, map[string]any{"namespace": namespace}))
	}
	for _, neighbor := range neighbors {
		if want, valid := s.decide("access", neighbor); valid {
			s.same("access neighbor", neighbor, s.ask("/v1/decisions/access", neighbor), want)
		}
	}
}

// accessFilters evaluates the filter of a request on its own namespace and name, and on others.
func (s *site) accessFilters(q map[string]any, want any) {
	s.Helper()
	if q["path"] != nil {
		return
	}
	stated := with(q, map[string]any{"namespace": nil, "name": nil})
	filter, found := s.filter("access", stated, map[string]any{"open": []string{"namespace", "name"}})
	if !found {
		return
	}
	row := map[string]any{}
	for _, key := range []string{"namespace", "name"} {
		if q[key] != nil {
			row[key] = q[key]
		}
	}
	s.same("access filter", q, filter.selects(s, row), members(want)["allowed"] == true)
	row = map[string]any{"namespace": s.One(random.Namespaces), "name": s.One([]string{"a", "web-0"})}
	elsewhere := with(stated, row)
	if other, valid := s.decide("access", elsewhere); valid {
		s.same("access filter", elsewhere, filter.selects(s, row), members(other)["allowed"] == true)
	}
}

// whoCan looks for the user of a request, and for each of its groups, among those who may do it
// with all facts stated as they are.
func (s *site) whoCan(q map[string]any) {
	s.Helper()
	stated := with(q, map[string]any{"user": nil, "groups": nil})
	status, answer := s.post("/v1/who-can", map[string]any{"request": stated, "open": []string{}})
	if status != 200 {
		s.Errorf("who-can %s: got %d %s", encode(stated), status, answer)
		return
	}
	found := members(answer)
	listed := func(key, name string) bool {
		list, _ := found[key].([]any)
		return slices.Contains(list, any(name))
	}
	if user, _ := q["user"].(string); user != "" {
		alone := with(q, map[string]any{"groups": nil})
		want, _ := s.decide("access", alone)
		s.same("who-can", alone, listed("users", user) || listed("serviceAccounts", user), members(want)["allowed"])
	}
	groups, _ := q["groups"].([]any)
	for _, group := range groups {
		asked := with(q, map[string]any{"groups": []any{group}, "user": ""})
		if want, valid := s.decide("access", asked); valid {
			s.same("who-can", asked, listed("groups", group.(string)), members(want)["allowed"])
		}
	}
}

// evaluation asks as AuthZEN does, once alone and once among others. The attributes of the
// request are those of the entities then.
func (s *site) evaluation(q map[string]any) {
	s.Helper()
	if q["path"] != nil || q["name"] == nil || q["user"] == "" {
		return
	}
	groups, _ := q["groups"].([]any)
	if groups == nil {
		groups = []any{}
	}
	canonical := map[string]any{
		"user": q["user"], "groups": groups, "verb": q["verb"], "resource": q["resource"], "name": q["name"],
	}
	properties := map[string]any{}
	for _, key := range []string{"apiGroup", "subresource", "namespace", "cluster", "labels"} {
		if q[key] != nil {
			properties[key], canonical[key] = q[key], q[key]
		}
	}
	context := members(q["attributes"])
	if context == nil {
		context = map[string]any{}
	}
	action := map[string]any{"name": q["verb"]}
	asked := map[string]any{
		"subject":  map[string]any{"type": "user", "id": q["user"], "properties": map[string]any{"groups": groups}},
		"resource": map[string]any{"type": q["resource"], "id": q["name"], "properties": properties},
		"action":   action, "context": context,
	}
	canonical["attributes"] = map[string]any{
		"subject":  map[string]any{"type": "user", "id": q["user"], "groups": groups},
		"resource": with(properties, map[string]any{"type": q["resource"], "id": q["name"]}),
		"action":   action, "context": context,
	}
	want, valid := s.decide("access", canonical)
	if !valid {
		s.Errorf("%s is not valid: %s", encode(canonical), want)
		return
	}
	answer := map[string]any{"decision": members(want)["allowed"], "context": want}
	s.same("evaluation", canonical, s.ask("/access/v1/evaluation", asked), answer)
	several := members(s.ask("/access/v1/evaluations", map[string]any{"evaluations": []any{asked, asked}}))
	s.same("evaluations", canonical, several["evaluations"], []any{answer, answer})
}

// review asks as an API server does. A review states neither labels nor pods, and the server adds
// the tenant of its cluster.
func (s *site) review(r oracle.Request) {
	s.Helper()
	tenant, listed := s.tenants[r.Cluster]
	if !listed {
		r.Cluster = s.One(accessClusters)
		tenant = s.tenants[r.Cluster]
	}
	r.Tenant, r.Fields, r.Labels, r.NamespaceLabels, r.Pod, r.PodError, r.Attributes = tenant, nil, nil, nil, nil, "", nil
	extra := map[string][]string{}
	maps.Copy(extra, r.Extra)
	for key, value := range map[string]string{"writ.dev/session": r.Session, "writ.dev/escalation": r.Escalation} {
		if value != "" {
			extra[key] = []string{value}
		}
	}
	r.Extra = extra
	version, groups := "v1", "groups"
	if s.Once(4) {
		version, groups = "v1beta1", "group"
	}
	spec := map[string]any{"user": r.User, groups: r.Groups, "extra": extra}
	if r.Path != "" {
		spec["nonResourceAttributes"] = map[string]any{"path": r.Path, "verb": r.Verb}
	} else {
		spec["resourceAttributes"] = map[string]any{
			"verb": r.Verb, "group": r.APIGroup, "resource": r.Resource, "subresource": r.Subresource,
			"namespace": r.Namespace, "name": r.Name,
		}
	}
	want, valid := s.decide("access", decode(s.T, []byte(r.JSON())))
	if !valid {
		s.Errorf("%s is not valid: %s", r.JSON(), want)
		return
	}
	path := "/apis/authorization.k8s.io/" + version + "/subjectaccessreviews"
	if r.Cluster != accessClusters[0] || s.Once(2) { // which is the default
		path = "/clusters/" + r.Cluster + path
	}
	answer := members(s.ask(path, map[string]any{
		"kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/" + version, "spec": spec,
	}))
	status, decision := members(answer["status"]), members(want)
	got := []any{status["allowed"], status["denied"] == true, strings.TrimSuffix(fmt.Sprint(status["reason"]), "…")}
	reason := fmt.Sprint(decision["reason"])
	if text := got[2].(string); strings.HasPrefix(reason, text) {
		reason = text // a long one is cut
	}
	s.same("review", decode(s.T, []byte(r.JSON())), got, []any{decision["allowed"], decision["denied"], reason})
}

// originReview asks about the caller as Origin does. A review is about the default cluster, and
// words of a kind that is not a plural would be others.
func (s *site) originReview(r oracle.Request) {
	s.Helper()
	isSingular := !strings.HasSuffix(r.Resource, "s") || strings.HasSuffix(r.Resource, "ss") || strings.HasSuffix(r.Resource, "us")
	if isSingular || r.Resource != strings.ToLower(r.Resource) || r.Namespace == "" || r.APIGroup != "" {
		return
	}
	r.Subresource = strings.ToLower(r.Subresource)
	spec := map[string]any{"verb": r.Verb, "resourceKind": r.Resource, "resourceName": r.Name}
	if r.Subresource != "" {
		spec["resourceKind"] = r.Resource + "/" + r.Subresource
	}
	if r.Labels != nil {
		spec["content"] = map[string]any{"metadata": map[string]any{"labels": r.Labels}}
	}
	r.Cluster, r.Tenant, r.Session, r.Escalation, r.Extra = accessClusters[0], s.tenants[accessClusters[0]], "", "", nil
	r.Fields, r.NamespaceLabels, r.Pod, r.PodError, r.Attributes = nil, nil, nil, "", nil
	want, valid := s.decide("access", decode(s.T, []byte(r.JSON())))
	if !valid {
		s.Errorf("%s is not valid: %s", r.JSON(), want)
		return
	}
	review := encode(map[string]any{"kind": "SubjectAccessReview", "apiVersion": "v1", "spec": spec})
	token, path := s.tokens[(&caller{r.User, r.Groups}).key()], "/api/v1/ns/"+r.Namespace+"/subjectaccessreviews"
	status, text := s.sendAs(token, "POST", s.kept+path, "application/json", review)
	got := []any{status, members(members(decode(s.T, text))["status"])["allowed"]}
	s.same("Origin review", decode(s.T, []byte(r.JSON())), got, []any{http.StatusOK, members(want)["allowed"]})
}

// rulesReview asks what a caller may do in a namespace. What a rule says is allowed on the cluster
// of the review.
func (s *site) rulesReview(c caller, namespace string) {
	s.Helper()
	if namespace == "" {
		return
	}
	cluster := s.One(accessClusters)
	path := "/clusters/" + cluster + "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
	review := encode(map[string]any{
		"kind": "SelfSubjectRulesReview", "apiVersion": "authorization.k8s.io/v1", "spec": map[string]any{"namespace": namespace},
	})
	status, text := s.sendAs(s.tokens[c.key()], "POST", s.kept+path, "application/json", review)
	var answer struct {
		Status struct {
			ResourceRules []struct{ Verbs, APIGroups, Resources, ResourceNames []string }
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil || status != http.StatusCreated && status != http.StatusOK {
		s.Fatalf("rules review: got %d %s", status, text)
	}
	rules := answer.Status.ResourceRules
	s.Shuffle(len(rules), func(i, j int) { rules[i], rules[j] = rules[j], rules[i] })
	of := func(list []string, any string) string {
		if one := s.One(list); one != "*" {
			return one
		}
		return any
	}
	for _, rule := range rules[:min(len(rules), 3)] {
		q := map[string]any{
			"user": c.user, "groups": append([]string{}, c.groups...), "namespace": namespace, "cluster": cluster,
			"verb": of(rule.Verbs, "list"), "apiGroup": of(rule.APIGroups, "apps"), "name": "a",
		}
		resource, subresource, _ := strings.Cut(of(rule.Resources, "pods"), "/")
		q["resource"], q["subresource"], q["tenant"] = resource, subresource, s.tenants[cluster]
		if len(rule.ResourceNames) > 0 {
			q["name"] = s.One(rule.ResourceNames)
		}
		want, _ := s.decide("access", q)
		s.same("rules review", q, any(true), members(want)["allowed"])
	}
}
