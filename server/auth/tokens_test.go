package auth

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestTokens(t *testing.T) {
	tt := tokens(t, "t1,alice,1,\"dev,ops\"\n\nt2,bob,2\nt3,\"carol, the third\",,\n")
	for _, want := range []struct {
		header string
		caller *Caller
		fails  bool
	}{
		{"", nil, false},
		{"Bearer t1", &Caller{Name: "alice", UID: "1", Groups: []string{"dev", "ops"}}, false},
		{"bearer  t2", &Caller{Name: "bob", UID: "2"}, false},
		{"Bearer t3", &Caller{Name: "carol, the third"}, false},
		{"Bearer t", nil, true},
		{"Bearer T1", nil, true},
		{"Bearer t1 ", nil, true},
		{"Bearer", nil, true},
		{"t1", nil, true},
		{"Basic dDE6", nil, true},
	} {
		var given Credentials
		if want.header != "" {
			given.Authorization = []string{want.header}
		}
		got, err := tt.Authenticate(t.Context(), given)
		if !reflect.DeepEqual(got, want.caller) || (err != nil) != want.fails {
			t.Errorf("%q: got %+v, %v", want.header, got, err)
		}
	}
}

func TestInvalidTokenFiles(t *testing.T) {
	for _, tt := range []struct{ name, content, want string }{
		{"two fields", "secret,alice\n", "line 1"},
		{"five fields", "a,b,c,d\nsecret,alice,1,dev,ops\n", "line 2"},
		{"no token", ",alice,1\n", "token is empty"},
		{"blanks around a token", "secret ,alice,1\n", "blanks"},
		{"no user", "secret,,1\n", "user is empty"},
		{"a token twice", "secret,alice,1\nsecret,bob,2\n", "line 2"},
		{"an empty group", "secret,alice,1,\"a,,b\"\n", "group is empty"},
		{"an open quote", "secret,\"alice,1\n", "line"},
	} {
		path := filepath.Join(t.TempDir(), "tokens.csv")
		if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadTokens(path)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want an error with %q and without the token", tt.name, err, tt.want)
		}
	}
	if _, err := ReadTokens(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there was read")
	}
}

// A file that breaks keeps the tokens it had.
func TestTokensReload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.csv")
	write := func(content string) {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("t1,alice,1\n")
	read, err := ReadTokens(path)
	if err != nil {
		t.Fatal(err)
	}
	good := func(token string) bool {
		_, err := read.Authenticate(t.Context(), Credentials{Authorization: []string{"Bearer " + token}})
		return err == nil
	}
	if changed, err := read.Reload(); changed || err != nil {
		t.Errorf("unchanged: got %v, %v", changed, err)
	}
	write("t2\n")
	if changed, err := read.Reload(); changed || err == nil || !good("t1") {
		t.Errorf("broken: got %v, %v; the old token is good: %v", changed, err, good("t1"))
	}
	write("t2,alice,1\n")
	if changed, err := read.Reload(); !changed || err != nil || good("t1") || !good("t2") {
		t.Errorf("mended: got %v, %v; good: %v, %v", changed, err, good("t1"), good("t2"))
	}
	for _, content := range []string{"", "\n\n"} { // half of a writing
		write(content)
		if changed, err := read.Reload(); changed || err == nil || !good("t2") {
			t.Errorf("without a token: got %v, %v; the old token is good: %v", changed, err, good("t2"))
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if changed, err := read.Reload(); changed || err == nil || !good("t2") {
		t.Errorf("removed: got %v, %v", changed, err)
	}
}

func tokens(t *testing.T, content string) *Tokens {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := ReadTokens(path)
	if err != nil {
		t.Fatal(err)
	}
	return read
}
