package agreement

import (
	"maps"
	"reflect"
	"testing"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/translator"
)

// A request that differs from another one in one attribute gets the same decision if it
// has the same projection.
func FuzzAccessProjection(f *testing.F) {
	e := engineOf(f, distinguishing)
	f.Add([]byte(`{"user":"reader","verb":"get","resource":"secrets","name":"web"}`), byte(6), "db")
	f.Add([]byte(`{"user":"root","groups":["sre"],"verb":"create","resource":"pods","subresource":"exec","namespace":"n","pod":{"spec":{}}}`), byte(5), "prod-1")
	f.Add([]byte(`{"user":"reader","verb":"get","path":"/api/v1"}`), byte(7), "/api/v2")
	f.Add([]byte(`{"user":"root","verb":"IMPERSONATE:x","resource":"users","cluster":"prod-1"}`), byte(1), "impersonate-on:x:get")
	f.Fuzz(func(t *testing.T, text []byte, which byte, value string) {
		one, err := decision.Decode[decision.Request](text)
		if err != nil || one.Validate() != nil {
			return
		}
		two := *one
		attributes := [...]*string{
			&two.User, &two.Verb, &two.APIGroup, &two.Resource, &two.Subresource, &two.Namespace, &two.Name, &two.Path,
			&two.Cluster, &two.Tenant, &two.Session, &two.Escalation, &two.PodError,
		}
		if at := int(which) % (len(attributes) + 1); at < len(attributes) {
			*attributes[at] = value
		} else {
			two.Groups = append([]string{value}, one.Groups...)
		}
		if two.Validate() != nil || string(e.AccessKey(nil, one)) != string(e.AccessKey(nil, &two)) {
			return
		}
		got, want := e.Access(t.Context(), one).For(&two), e.Access(t.Context(), &two)
		if got.Expires = want.Expires; !reflect.DeepEqual(got, want) {
			t.Fatalf("two requests with one projection are decided differently:\n%s\n%+v\n%s\n%+v", one.Encode(), got, two.Encode(), want)
		}
	})
}

// engineOf activates documents.
func engineOf(f *testing.F, documents string) *engine.Engine {
	f.Helper()
	result, list := translator.New(translator.Options{}).Translate(f.Context(), snapshotOf(map[string]string{"d.yaml": documents}))
	if result == nil {
		f.Fatal(list)
	}
	bundle, err := bundles.Build(result, bundles.BuildOptions{})
	if err != nil {
		f.Fatal(err)
	}
	e, err := engine.Activate(f.Context(), bundle, engine.Options{})
	if err != nil {
		f.Fatal(err)
	}
	return e
}

// The same at the gateway point, for requests that differ in one member.
func FuzzGatewayProjection(f *testing.F) {
	e := engineOf(f, distinguishingGateway)
	f.Add([]byte(`{"request":{"host":"h","method":"GET","path":"/api/1","headers":{"x-check":"1"}},"auth":{"identity":{"sub":"root"}}}`), "request", "path", "/api/2")
	f.Add([]byte(`{"request":{"host":"h:80","method":"GET","path":"/q?k=a"}}`), "request", "query", "k=b")
	f.Add([]byte(`{"request":{"host":"h","method":"GET","path":"/h","headers":{"X-Kind":"a"}}}`), "headers", "x-kind", "b")
	f.Add([]byte(`{"request":{"host":"h","method":"GET","path":"/exact"},"auth":{"identity":{}}}`), "identity", "sub", "root")
	f.Fuzz(func(t *testing.T, text []byte, object, member, value string) {
		one, err := decision.DecodeGateway(text)
		if err != nil {
			return
		}
		two, err := decision.DecodeGateway(text)
		if err != nil {
			t.Fatal(err)
		}
		if to := memberObject(two.Attributes, object); to != nil {
			to[member] = value
		}
		first, ok1 := e.GatewayKey(nil, one)
		second, ok2 := e.GatewayKey(nil, two)
		if !ok1 || !ok2 || string(first) != string(second) {
			return
		}
		got, invalid := e.Gateway(t.Context(), one)
		want, wantInvalid := e.Gateway(t.Context(), two)
		if got.IsOwn && want.IsOwn {
			return
		}
		if !reflect.DeepEqual(got, want) || (invalid == nil) != (wantInvalid == nil) {
			t.Fatalf("two requests with one projection are decided differently:\n%v\n%+v\n%v\n%+v", one.Attributes, got, two.Attributes, want)
		}
	})
}

// memberObject returns an object of a request by its name, nil if it is absent.
func memberObject(attributes map[string]any, name string) map[string]any {
	within := map[string]string{"headers": "request", "identity": "auth"}
	if outer, found := within[name]; found {
		attributes, _ = attributes[outer].(map[string]any)
	}
	object, _ := attributes[name].(map[string]any)
	return object
}

// The same at the visibility point, for authorizations.
func FuzzVisibilityProjection(f *testing.F) {
	e := engineOf(f, `
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: p}
spec:
  identity: {subjects: {users: [u], groups: [g]}}
  access: {effect: Allow}
  scope: {clusters: {rules: [
    {selector: {matchLabels: {env: prod}}, permissions: {view: true}},
    {selector: {matchPattern: "^dev-"}, permissions: {view: true, viewMetrics: true}, resources: [{type: pods, filters: {names: {denied: ["*-tmp"]}}}]}]}}
`)
	f.Add([]byte(`{"user":"u","groups":["g"],"cluster":{"name":"c","labels":{"env":"prod"}},"type":"pods"}`), "zz", "x", "y")
	f.Add([]byte(`{"user":"other","groups":["g","h"],"cluster":{"name":"dev-1"}}`), "g", "env", "prod")
	f.Fuzz(func(t *testing.T, text []byte, group, label, value string) {
		one, err := decodeVisibility(text)
		if err != nil {
			return
		}
		two := *one
		two.Groups = append([]string{group}, one.Groups...)
		two.Cluster.Labels = maps.Clone(one.Cluster.Labels)
		if two.Cluster.Labels != nil {
			two.Cluster.Labels[label] = value
		}
		if keyOf(e, one) != keyOf(e, &two) {
			return
		}
		if got, want := written(t, e.Visibility(t.Context(), one)), written(t, e.Visibility(t.Context(), &two)); !reflect.DeepEqual(got, want) {
			t.Fatalf("two requests with one projection are authorized differently:\n%s\n%v\n%v", text, got, want)
		}
	})
}
