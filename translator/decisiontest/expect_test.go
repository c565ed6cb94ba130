package decisiontest

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/decision"
)

// The keys that an expectation may have are those of the decisions of each point.
func TestKeysOfDecisions(t *testing.T) {
	for point, of := range map[string]reflect.Type{
		decision.Access: reflect.TypeFor[decision.Decision](), decision.Gateway: reflect.TypeFor[decision.GatewayDecision](),
		decision.Visibility: reflect.TypeFor[decision.VisibilityDecision](),
	} {
		known := maps.Clone(decisions[point])
		delete(known, "error") // of a request that is not valid
		compareKeys(t, point, known, of)
	}
}

func compareKeys(t *testing.T, at string, known members, of reflect.Type) {
	t.Helper()
	fields := make(map[string]reflect.Type)
	for _, f := range reflect.VisibleFields(of) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "-" && name != "" && f.IsExported() {
			fields[name] = f.Type
		}
	}
	if strings.HasSuffix(at, ".matched") {
		delete(fields, "deferred") // of reviews that admission completes
	}
	if at == decision.Visibility+".matched" {
		for _, name := range []string{"effect", "apiVersion", "role", "binding"} {
			delete(fields, name) // of rules of other points
		}
	}
	got, want := slices.Sorted(maps.Keys(known)), slices.Sorted(maps.Keys(fields))
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", at, got, want)
	}
	for name, field := range fields {
		for field.Kind() == reflect.Pointer || field.Kind() == reflect.Slice {
			field = field.Elem()
		}
		switch {
		case field.Kind() == reflect.Struct:
			compareKeys(t, at+"."+name, known[name], field)
		case (field.Kind() == reflect.Map) != (known[name] == nil):
			t.Errorf("%s.%s: got %v for %s", at, name, known[name], field)
		}
	}
}
