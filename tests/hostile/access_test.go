package hostile

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/tests/oracle"
	"github.com/writ-policy/writ/tests/oracle/random"
)

var accessAttack = &attack{
	target: "FuzzAccess", decides: true,
	routes: []string{"POST /v1/decisions/access"},
	draw: func(d random.Source, s *site, _ string) *request {
		return post(d, "/v1/decisions/access", s.drawAccess(d).JSON())
	},
	judge: func(x *exchange) string {
		r, ok := readAccess(x.body)
		return x.judgeDecision(ok && x.caller() != nil && x.site.allows(r), x.decoded()["allowed"])
	},
}

// FuzzAccess sends canonical requests at the access point.
func FuzzAccess(f *testing.F) { accessAttack.fuzz(f) }

// drawn is how many requests a world draws, and of which an attack begins with one.
const drawn = 300

func (s *site) drawAccess(d random.Source) oracle.Request {
	if s.accesses == nil {
		s.accesses = s.access.Requests(drawn)
	}
	return s.accesses[d.IntN(drawn)]
}

// allows reports whether the oracle allows a request.
func (s *site) allows(r oracle.Request) bool { return r.Valid() == nil && s.access.Decide(r).Allowed }

// post is a request with JSON from a caller.
func post(d random.Source, path, body string) *request {
	r := &request{method: "POST", path: path, body: []byte(body)}
	r.set("Content-Type", "application/json")
	r.from(d, "t-alice", "t-bob", "t-dev", "t-bot")
	return r
}

// from adds the credentials of one of some callers.
func (r *request) from(d random.Source, tokens ...string) {
	r.set("Authorization", "Bearer "+d.One(tokens))
}

// judgeDecision compares whether an answer allows with whether it may. A request that was
// not edited must be allowed if it may be.
func (x *exchange) judgeDecision(may bool, allowed any) string {
	got, ok := allowed.(bool)
	switch {
	case !ok:
		return "the answer is not a decision"
	case got && !may:
		return "allowed, and must not be"
	case may && !got && !x.edited:
		return "denied, and may not be"
	}
	return ""
}

// readAccess is the naive reading of a canonical request.
func readAccess(body []byte) (oracle.Request, bool) { return accessOf(strict(body)) }

// accessOf is the naive reading of a canonical request as JSON has it.
func accessOf(object map[string]any) (oracle.Request, bool) {
	object, _ = ints(any(object)).(map[string]any)
	if object == nil || !has(object, "user", "groups", "extra", "verb", "apiGroup", "resource", "subresource", "namespace", "name", "path", "cluster",
		"tenant", "session", "escalation", "fields", "labels", "namespaceLabels", "pod", "podError", "attributes") {
		return oracle.Request{}, false
	}
	f := &fields{object, true}
	r := oracle.Request{
		User: f.text("user"), Groups: f.texts("groups"), Verb: f.text("verb"), APIGroup: f.text("apiGroup"), Resource: f.text("resource"),
		Subresource: f.text("subresource"), Namespace: f.text("namespace"), Name: f.text("name"), Path: f.text("path"), Cluster: f.text("cluster"),
		Tenant: f.text("tenant"), Session: f.text("session"), Escalation: f.text("escalation"), Fields: f.texts("fields"), Labels: f.textMap("labels"),
		NamespaceLabels: f.textMap("namespaceLabels"), Pod: read[map[string]any](f, "pod"), PodError: f.text("podError"),
		Attributes: read[map[string]any](f, "attributes"),
	}
	return r, f.ok
}

const reviewPath = "/apis/authorization.k8s.io/"

var reviewAttack = &attack{
	target: "FuzzReviews", decides: true,
	routes: []string{
		"POST " + reviewPath + "v1/subjectaccessreviews", "POST " + reviewPath + "v1beta1/subjectaccessreviews",
		"POST /clusters/:cluster" + reviewPath + "v1/subjectaccessreviews", "POST /clusters/:cluster" + reviewPath + "v1beta1/subjectaccessreviews",
	},
	draw: func(d random.Source, s *site, route string) *request {
		q := s.drawAccess(d)
		if q.Cluster == "" {
			q.Cluster = "c1"
		}
		_, path, _ := strings.Cut(route, " ")
		version := "v1"
		if strings.Contains(path, "v1beta1") {
			version = "v1beta1"
		}
		return post(d, strings.Replace(path, ":cluster", url.PathEscape(q.Cluster), 1), written(reviewOf(q, version)))
	},
	judge: func(x *exchange) string {
		r, ok := readReview(x)
		status, _ := x.decoded()["status"].(map[string]any)
		if status["allowed"] == true && status["denied"] == true {
			return "allowed and denied"
		}
		return x.judgeDecision(ok && x.caller() != nil && x.site.allows(r), status["allowed"])
	},
}

// FuzzReviews sends SubjectAccessReviews, as API servers do.
func FuzzReviews(f *testing.F) { reviewAttack.fuzz(f) }

func written(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // strings, and lists and maps of them
	}
	return string(text)
}

// reviewOf is the review of a request, without what only a cluster knows.
func reviewOf(q oracle.Request, version string) map[string]any {
	extra := map[string][]string{"scopes": {"a", "b"}}
	if q.Session != "" {
		extra["writ.dev/session"] = []string{q.Session}
	}
	if q.Escalation != "" {
		extra["writ.dev/escalation"] = []string{q.Escalation}
	}
	spec := map[string]any{"user": q.User, groupsKey(version): q.Groups, "extra": extra, "uid": "7"}
	if q.Path != "" {
		spec["nonResourceAttributes"] = map[string]any{"path": q.Path, "verb": q.Verb}
	} else {
		spec["resourceAttributes"] = map[string]any{
			"verb": q.Verb, "group": q.APIGroup, "version": "v1", "resource": q.Resource, "subresource": q.Subresource,
			"namespace": q.Namespace, "name": q.Name,
			"labelSelector": map[string]any{"requirements": []any{map[string]any{"key": "a", "operator": "In", "values": []string{"b"}}}},
		}
	}
	return map[string]any{"apiVersion": "authorization.k8s.io/" + version, "kind": "SubjectAccessReview", "metadata": map[string]any{}, "spec": spec}
}

func groupsKey(version string) string {
	if version == "v1" {
		return "groups"
	}
	return "group"
}

// readReview is the naive reading of a review: of the path, and of the keys that have a
// meaning. Like Kubernetes it ignores all others.
func readReview(x *exchange) (r oracle.Request, ok bool) {
	path := strings.Split(x.sent.URL.Path, "/")
	if strings.HasPrefix(x.sent.URL.Path, "/clusters/") {
		r.Cluster = path[2]
	}
	version := path[len(path)-2]
	object := strict(x.body)
	if object["kind"] != "SubjectAccessReview" || object["apiVersion"] != "authorization.k8s.io/"+version {
		return r, false
	}
	f := &fields{object, true}
	spec := f.in("spec")
	r.User, r.Groups = spec.text("user"), spec.texts(groupsKey(version))
	resource, nonResource := spec.in("resourceAttributes"), spec.in("nonResourceAttributes")
	if (resource.object == nil) == (nonResource.object == nil) {
		return r, false
	}
	if nonResource.object != nil {
		r.Path, r.Verb = nonResource.text("path"), nonResource.text("verb")
	} else {
		r.Verb, r.APIGroup, r.Resource = resource.text("verb"), resource.text("group"), resource.text("resource")
		r.Subresource, r.Namespace, r.Name = resource.text("subresource"), resource.text("namespace"), resource.text("name")
	}
	extra := spec.in("extra")
	for _, claim := range []struct {
		key string
		to  *string
	}{{"writ.dev/session", &r.Session}, {"writ.dev/escalation", &r.Escalation}} {
		values := extra.texts(claim.key)
		if len(values) > 1 {
			return r, false
		}
		*claim.to = strings.Join(values, "")
	}
	return r, f.ok && spec.ok && resource.ok && nonResource.ok && extra.ok
}

var originAttack = &attack{
	target: "FuzzOriginReviews", decides: true,
	routes: []string{"POST /api/:version/ns/:namespace/:resource"},
	draw: func(d random.Source, s *site, _ string) *request {
		q := s.drawAccess(d)
		if q.Namespace == "" || q.Resource == "" {
			q.Namespace, q.Resource = "hammer", "pods"
		}
		spec := map[string]any{"verb": q.Verb, "resourceKind": q.Resource, "resourceName": q.Name}
		if q.Subresource != "" {
			spec["resourceKind"] = q.Resource + "/" + q.Subresource
		}
		if q.Labels != nil {
			spec["content"] = map[string]any{"metadata": map[string]any{"labels": q.Labels}}
		}
		kind := d.One([]string{"SubjectAccessReview", "SubjectAccessReview", "ResourceAccessReview"})
		if kind == "SubjectAccessReview" && !d.Once(3) {
			if q.User != "" && !d.Once(4) {
				spec["userName"] = q.User
			} else if len(q.Groups) > 0 {
				spec["groupName"] = q.Groups[0]
			}
		}
		version := d.One([]string{"v1", "v1beta1", "v1beta3"})
		body := map[string]any{"kind": kind, "apiVersion": version, "metadata": map[string]any{"namespace": q.Namespace}, "spec": spec}
		return post(d, "/api/"+version+"/ns/"+q.Namespace+"/"+strings.ToLower(kind)+d.One([]string{"", "s"}), written(body))
	},
	judge: func(x *exchange) string {
		q, ok := readOrigin(x)
		status, _ := x.decoded()["status"].(map[string]any)
		if q.lists {
			return x.judgeList(q, ok, status)
		}
		allowed := status["allowed"] == true
		if (status["allowReason"] != nil && status["denyReason"] == nil) != allowed {
			return "the reasons contradict the answer"
		}
		return x.judgeDecision(ok && x.mayAsk(q) && x.site.allows(q.Request), status["allowed"])
	},
}

// FuzzOriginReviews sends the reviews of the Origin API.
func FuzzOriginReviews(f *testing.F) { originAttack.fuzz(f) }

// question is a review of the Origin API.
type question struct {
	oracle.Request
	lists     bool // it asks who can
	aboutSelf bool
	plural    string
}

// readOrigin is the naive reading of a review, which has no unknown keys in its spec.
func readOrigin(x *exchange) (q question, ok bool) {
	path := strings.Split(x.sent.URL.Path, "/")
	version, namespace := path[2], path[4]
	kind := ""
	switch strings.TrimSuffix(strings.ToLower(path[5]), "s") {
	case "subjectaccessreview":
		kind = "SubjectAccessReview"
	case "resourceaccessreview":
		kind, q.lists = "ResourceAccessReview", true
	}
	q.plural, q.Namespace = strings.ToLower(kind)+"s", namespace
	f := &fields{strict(x.body), true}
	metadata, spec := f.in("metadata"), f.in("spec")
	known := []string{"verb", "resourceKind", "resourceName", "content", "userName", "groupName"}
	if q.lists {
		known = known[:4]
	}
	own := x.caller()
	if f.text("kind") != kind || f.text("apiVersion") != version || !has(f.object, "kind", "apiVersion", "metadata", "spec", "status") ||
		!has(spec.object, known...) || own == nil {
		return q, false
	}
	if given := metadata.text("namespace"); given != "" && given != namespace {
		return q, false
	}
	user, group := spec.text("userName"), spec.text("groupName")
	switch {
	case group != "" && user != "":
		return q, false
	case group != "":
		q.Groups = []string{group}
	case user == "", user == own.name:
		q.User, q.Groups, q.aboutSelf = own.name, own.groups, true
	default:
		q.User = user
	}
	q.Verb, q.Name = spec.text("verb"), spec.text("resourceName")
	q.Resource, q.Subresource, _ = strings.Cut(strings.ToLower(spec.text("resourceKind")), "/")
	if r := q.Resource; r != "" && r != "*" && (!strings.HasSuffix(r, "s") || strings.HasSuffix(r, "ss") || strings.HasSuffix(r, "us")) {
		q.Resource = oracle.Plural(r)
	}
	if content := spec.in("content"); content.object != nil {
		q.Labels = content.in("metadata").textMap("labels")
		if q.Labels == nil {
			q.Labels = content.textMap("labels")
		}
		if q.Labels == nil {
			q.Labels = map[string]string{}
		}
		if content.object["kind"] == "Pod" {
			q.Pod = content.object
		}
	}
	return q, f.ok && spec.ok && metadata.ok && q.Verb != "" && q.Resource != ""
}

// mayAsk reports whether the sender of a review may ask: about itself always, about
// others with the right to create such a review.
func (x *exchange) mayAsk(q question) bool {
	own := x.caller()
	return q.aboutSelf && !q.lists || own != nil && x.site.allows(oracle.Request{
		User: own.name, Groups: own.groups, Verb: "create", Resource: q.plural, Namespace: q.Namespace,
	})
}

// judgeList compares who is listed with who may be.
func (x *exchange) judgeList(q question, ok bool, status map[string]any) string {
	if !ok || !x.mayAsk(q) {
		return "a list is answered, and must not be"
	}
	q.User, q.Groups = "", nil
	can := x.site.access.WhoCan(q.Request)
	users := slices.Concat(can.Users, can.ServiceAccounts)
	for key, most := range map[string][]string{"userNames": users, "groupNames": can.Groups} {
		listed, _ := status[key].([]any)
		for _, name := range listed {
			if text, _ := name.(string); !slices.Contains(most, text) {
				return "the list names " + text
			}
		}
		if !x.edited && len(listed) < len(slices.Compact(slices.Sorted(slices.Values(most)))) {
			return "the list is too short"
		}
	}
	return ""
}
