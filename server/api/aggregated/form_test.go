package aggregated

import (
	"net/http/httptest"
	"testing"

	"github.com/writ-policy/writ/server/auth"
)

// A list is written as a list, however a request states that it does not watch.
func TestFormOfLists(t *testing.T) {
	for _, row := range []struct {
		query, suffix string
	}{
		{"", "List"}, {"?watch=false", "List"}, {"?watch=0", "List"}, {"?watch=true", ""}, {"?watch=1", ""},
	} {
		r := httptest.NewRequest("GET", ResourcePath+row.query, nil)
		r.Header.Set("Accept", "application/json;as=PartialObjectMetadata"+row.suffix+";g=meta.k8s.io;v=v1")
		r = r.WithContext(auth.WithCaller(r.Context(), &auth.Caller{Name: "u"}))
		if _, f, refused := new(API).parseList(r); refused != nil || f.as != metadata {
			t.Errorf("%s: got %v %v, want %s", row.query, f, refused, metadata)
		}
	}
}
