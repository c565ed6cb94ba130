package agreement

import (
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
	result, list := translator.New(translator.Options{}).Translate(f.Context(), snapshotOf(map[string]string{"d.yaml": distinguishing}))
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
	f.Add([]byte(`{"user":"reader","verb":"get","resource":"secrets","name":"web"}`), byte(6), "db")
	f.Add([]byte(`{"user":"root","groups":["sre"],"verb":"create","resource":"pods","subresource":"exec","namespace":"n","pod":{"spec":{}}}`), byte(5), "prod-1")
	f.Add([]byte(`{"user":"reader","verb":"get","path":"/api/v1"}`), byte(7), "/api/v2")
	f.Add([]byte(`{"user":"root","verb":"IMPERSONATE:x","resource":"users","cluster":"prod-1"}`), byte(1), "impersonate-on:x:get")
	f.Fuzz(func(t *testing.T, text []byte, which byte, value string) {
		one, err := decision.Decode(text)
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
