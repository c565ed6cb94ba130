package hostile

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/tests/oracle"
)

// script is the edits that remain: it gives their bytes, and zeros at the end.
type script []byte

func (s *script) next() int {
	if len(*s) == 0 {
		return 0
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return int(b)
}

func (s *script) one(list []string) string { return list[s.next()%len(list)] }

// edit changes the request as the script says: nothing for an empty one.
func (r *request) edit(edits []byte) {
	for s := script(edits); len(s) > 0; {
		switch s.next() % 8 {
		case 0:
			r.editBytes(&s)
		case 1:
			r.editPath(&s)
		case 2:
			r.editHeader(&s)
		case 3:
			r.query = strings.Trim(r.query+"&"+s.one(queries), "&")
		default:
			r.editTree(&s)
		}
	}
}

var queries = []string{
	"timeout=1ns", "timeout=-1s", "timeout=99h", "timeout=1s&timeout=1ns", "dryRun=All", "user=alice", "namespace=master", "allowed=true",
	"%", "a=%zz", "cluster=", "cluster=c1", "cluster=c1&cluster=%ff", "section=http", "via=Gateway/net/edge", "rule=rules.authorization.a",
	"policy=a/b", "include_source_details=true", "include_source_details=maybe",
}

// editBytes changes the body as bytes.
func (r *request) editBytes(s *script) {
	at := 0
	if len(r.body) > 0 {
		at = (s.next()<<8 + s.next()) % len(r.body)
	}
	body := slices.Clone(r.body)
	switch s.next() % 7 {
	case 0:
		body = body[:at]
	case 1:
		body = append(body, s.one([]string{" ", "\n{}", ",", "}", "\x00", string(body)})...)
	case 2:
		body = slices.Insert(body, at, byte(s.next()))
	case 3:
		body = append([]byte(s.one([]string{"\ufeff", " ", "[", "\xff\xfe", ")]}',\n"})), body...)
	case 4:
		body = bytes.ReplaceAll(body, []byte(`"`), []byte(`'`))
	case 5:
		if len(body) > 0 {
			body[at] = byte(s.next())
		}
	case 6:
		body = append(append(append([]byte{}, body[:at]...), s.one([]string{"/**/", "\\u0000", "\\ud800", "\xff", "NaN", "1e999"})...), body[at:]...)
	}
	r.body = body
}

// editPath changes the path: how it is written, or what it names.
func (r *request) editPath(s *script) {
	parts := strings.Split(r.path, "/")
	at := s.next() % len(parts)
	part := parts[at]
	switch s.next() % 9 {
	case 0:
		parts[at] = ""
	case 1:
		parts[at] = strings.ToUpper(part)
	case 2:
		parts[at] = s.one([]string{".", "..", "%2e%2e", "*", "%2A", "%00", "%0d%0a", "%ff", "%20", "c1", "hammer", "master", "%C5%BF", "%F0%9F%98%80"})
	case 3:
		parts[at] = part + s.one([]string{"%2F", "%2f..", "%5C", ";a=b", "%3Fa", "%23", ".", "%00", "%E2%80%8B", "\\"})
	case 4:
		if part != "" {
			parts[at] = fmt.Sprintf("%%%02X", part[0]) + part[1:]
		}
	case 5:
		parts = append(parts, "")
	case 6:
		parts = slices.Insert(parts, at, "")
	case 7:
		parts = slices.Insert(parts, at, s.one([]string{".", "..", "clusters", "c1", "v1"}))
	case 8:
		r.path = s.one([]string{"*", "//evil.example" + r.path, "http://evil.example" + r.path, "?" + r.path})
		return
	}
	r.path = strings.Join(parts, "/")
}

// editHeader adds, replaces or removes a header.
func (r *request) editHeader(s *script) {
	if s.next()%4 == 0 && len(r.header) > 0 {
		at := s.next() % len(r.header)
		r.header[at][1] = s.one([]string{"", "text/plain", "Bearer ", "Bearer t-operator", "Bearer t-auditor", "Basic dC1hbGljZTo=", "bearer  t-alice", "Bearer t-alice,Bearer t-bob"})
		return
	}
	field := headers[s.next()%len(headers)]
	r.set(field[0], field[1])
}

// headers are what proxies and frameworks act upon.
var headers = [][2]string{
	{"X-Original-URL", "/v1/decisions/access"}, {"X-Rewrite-URL", "/healthz"}, {"X-HTTP-Method-Override", "GET"}, {"X-HTTP-Method", "DELETE"},
	{"Impersonate-User", "system:admin"}, {"Impersonate-Group", "system:masters"}, {"X-Remote-User", "alice"}, {"X-Remote-Group", "operators"},
	{"X-Forwarded-For", "127.0.0.1"}, {"X-Forwarded-Host", "evil.example"}, {"X-Forwarded-User", "olga"}, {"Forwarded", "for=127.0.0.1"},
	{"Content-Encoding", "gzip"}, {"Content-Encoding", "identity"}, {"Content-Type", "text/plain"}, {"Content-Type", "application/json; charset=utf-16"},
	{"Content-Type", "application/x-ndjson"}, {"Content-Type", "application/json;"}, {"Transfer-Encoding", "chunked"}, {"Transfer-Encoding", "identity"},
	{"Content-Length", "0"}, {"Content-Length", "+5"}, {"Expect", "100-continue"}, {"Connection", "Authorization, Content-Type"}, {"Upgrade", "h2c"},
	{"Origin", "http://evil.example"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-origin"}, {"Cookie", "token=t-operator"},
	{"Authorization", "Bearer t-operator"}, {"Authorization", "Bearer t-bob"}, {"authorization", "Basic eDp5"}, {"Authorization ", "Bearer t-operator"},
	{"Writ-Revision", "0"}, {"If-Match", "*"}, {"If-None-Match", "*"}, {"Accept", "application/yaml"}, {"Accept-Encoding", "gzip"}, {"Range", "bytes=0-0"},
	{"Traceparent", "00-" + strings.Repeat("a", 32) + "-" + strings.Repeat("b", 16) + "-01"}, {"Host", "evil.example"}, {"X-A\tB", "c"}, {"X-Long", strings.Repeat("a", 5000)},
}

// editTree changes the body as JSON: how it is written, or what it means.
func (r *request) editTree(s *script) {
	n, err := parse(r.body)
	if err != nil {
		r.editBytes(s)
		return
	}
	var how style
	switch s.next() % 12 {
	case 0:
		how.spaces = true
	case 1:
		how.escapes = true
	case 2:
		how.backwards = true
	default:
		all := n.all()
		all[(s.next()<<8+s.next())%len(all)].edit(s)
	}
	var b strings.Builder
	n.write(&b, how)
	r.body = []byte(b.String())
}

// edit changes one value.
func (n *node) edit(s *script) {
	switch {
	case n.kind == '{' && len(n.keys) > 0 && s.next()%4 > 0:
		n.editMember(s)
	case n.kind == '[' && len(n.members) > 0 && s.next()%3 > 0:
		at := s.next() % len(n.members)
		if s.next()%2 == 0 {
			n.members = slices.Delete(n.members, at, at+1)
		} else {
			n.members = append(n.members, n.members[at])
		}
	case n.kind == '"' && s.next()%4 > 0:
		n.text = respell(n.text, s)
	default:
		*n = *other(s)
	}
}

// editMember changes an object's keys.
func (n *node) editMember(s *script) {
	at := s.next() % len(n.keys)
	switch s.next() % 6 {
	case 0:
		n.keys, n.members = slices.Delete(n.keys, at, at+1), slices.Delete(n.members, at, at+1)
	case 1: // the same key once more
		n.keys, n.members = append(n.keys, n.keys[at]), append(n.members, other(s))
	case 2:
		n.keys[at] = respell(n.keys[at], s)
	case 3:
		key := s.one([]string{"user", "groups", "verb", "resource", "namespace", "cluster", "labels", "pod", "podError", "extra", "status", "hits",
			"allowed", "__proto__", "", "null", "forms", "path", "type", "items", "auth", "route", "gateway", "identity", "url_path", "name", "kind", "group", "spec"})
		n.keys, n.members = append(n.keys, key), append(n.members, other(s))
	case 4:
		n.members[at] = other(s)
	case 5:
		to := s.next() % len(n.keys)
		n.members[at], n.members[to] = n.members[to], n.members[at]
	}
}

// respell writes a text in another spelling, or another text that looks like it.
func respell(text string, s *script) string {
	switch s.next() % 14 {
	case 0:
		return strings.ToUpper(text)
	case 1:
		return strings.ToLower(text)
	case 2:
		return oracle.Plural(strings.ToLower(text))
	case 3:
		return strings.TrimSuffix(text, "s")
	case 4:
		return text + s.one([]string{" ", "/", "\x00", ".", "/exec", "/EXEC", "\u200b", "\u0301", "*", "%2f", "\r\n", "?a=1", ";x", "#", ":8443"})
	case 5:
		return s.one([]string{" ", "/", "*", "-", "\ufeff", "system:", "\u202e", "//", "./", "apps/", "x."}) + text
	case 6:
		return strings.NewReplacer("s", "\u017f", "k", "\u212a", "i", "\u0131", "S", "\u017f").Replace(text) // letters that fold to others
	case 7:
		return s.one([]string{"", "*", "exec", "EXEC", "proxy", "create", "get", "pods", "secrets", "Secret", "system:masters", "system:serviceaccount:hammer:bot",
			"../../x", "true", "null", "a\u0000b", strings.Repeat("x", 3000), "alice", "hammer", "master"})
	case 8:
		if i := strings.IndexByte(text, '/'); i > 0 {
			return text[:i]
		}
		return text + "/" + text
	case 9:
		if text != "" {
			return strings.ToUpper(text[:1]) + text[1:]
		}
	case 10:
		if i := len(text) / 2; i > 0 {
			return text[:i] + s.one([]string{"\u00ad", "%", "/", "//", "/./", "/../", " ", "\\"}) + text[i:]
		}
	case 11:
		if len(text) > 1 {
			return text[:len(text)-1]
		}
	}
	return strings.ToTitle(text) + s.one([]string{"", "s", "es", "ies"})
}

// other is another value.
func other(s *script) *node {
	switch s.next() % 7 {
	case 0:
		return &node{text: s.one([]string{"null", "true", "false"})}
	case 1:
		return &node{text: s.one([]string{"0", "-0", "1e400", "1.0", "9007199254740993", "-1", "0.1e-400", strings.Repeat("9", 400)})}
	case 2:
		return &node{kind: '"', text: respell("pods", s)}
	case 3:
		return &node{kind: '['}
	case 4:
		return &node{kind: '{'}
	case 5:
		n := &node{kind: '"', text: "deep"}
		for range 1 + s.next()*2 {
			n = &node{kind: '[', members: []*node{n}}
		}
		return n
	}
	return &node{kind: '[', members: []*node{{kind: '"', text: s.one([]string{"system:masters", "dev", "ops", "*", ""})}}}
}
