package decision

import (
	"reflect"
	"testing"
)

func TestSendable(t *testing.T) {
	for name, row := range map[string]struct {
		header, value string
		allowed       bool
	}{
		"text":                {"x-user", "ann", true},
		"a tab":               {"x-user", "ann\tlee", true},
		"letters":             {"x-user", "Žofie", true},
		"a line feed":         {"x-user", "ad\nmin", false},
		"another header":      {"x-user", "ann\r\nx-admin: true", false},
		"a null byte":         {"x-user", "ann\x00", false},
		"delete":              {"x-user", "ann\x7f", false},
		"a next line":         {"x-user", "ann\u0085x", false},
		"a name of two":       {"x-user: a\r\nx-admin", "ann", false},
		"a name with a space": {"x user", "ann", false},
		"the path":            {":path", "/admin", false},
		"no name":             {"", "ann", false},
		"the host":            {"Host", "ann", false},
		"framing":             {"transfer-encoding", "chunked", false},
	} {
		d := GatewayDecision{Allowed: true, Status: 200, Revision: "r", Headers: map[string]string{row.header: row.value}}
		got := d.Sendable()
		if got.Allowed != row.allowed || got.Denied == row.allowed || got.Revision != "r" {
			t.Errorf("%s: got %+v, want allowed %v", name, got, row.allowed)
		}
		if row.allowed && !reflect.DeepEqual(got, d) {
			t.Errorf("%s: got %+v, want it as it was", name, got)
		}
	}
	d := GatewayDecision{Denied: true, Status: 302, Response: &GatewayResponse{
		Code: 302, Headers: map[string]string{"location": "https://a/\r\nset-cookie: b", "a b": "c", "Content-Length": "1"},
	}}
	want := map[string]string{"location": "https://a/  set-cookie: b"}
	if got := d.Sendable(); !got.Denied || !reflect.DeepEqual(got.Response.Headers, want) {
		t.Errorf("got %+v, want %q", got.Response, want)
	}
	if len(d.Response.Headers) != 3 {
		t.Error("the original decision was modified")
	}
}
