package git

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// signer is one line of allowed_signers or authorized_keys. It is immutable.
type signer struct {
	key ssh.PublicKey
	// principals is a list of patterns; empty for a line of authorized_keys, which has none.
	principals string
	// isAuthority states that key signs certificates, and not commits.
	isAuthority bool
	// namespaces is a list of patterns; empty allows every namespace.
	namespaces string
	// after and before bound the time of use, inclusively; zero means no bound.
	after, before time.Time
}

// isValidAt reports whether the line permits the use of its key at t.
func (s *signer) isValidAt(t time.Time) bool {
	return (s.after.IsZero() || !t.Before(s.after)) && (s.before.IsZero() || !t.After(s.before))
}

// parseSigner parses a line that is neither empty nor a comment. It returns an error for a
// marker or an option that is not understood: an option restricts what a key is trusted for.
func parseSigner(line string) (*signer, error) {
	if strings.HasPrefix(line, "@") {
		marker, _, _ := strings.Cut(line, " ")
		return nil, fmt.Errorf("unknown marker %q: revoked keys have a file of their own", marker)
	}
	s := &signer{}
	first, rest := cutField(line)
	var err error
	switch {
	case isKeyType(first):
		s.key, err = parseKey(line)
		return s, err
	case isOptions(first):
		if err := s.setOptions(first, loginOptions); err != nil {
			return nil, err
		}
		s.key, err = parseKey(rest)
		return s, err
	}
	if s.principals, rest, err = cutPrincipals(line); err != nil {
		return nil, err
	}
	if next, after := cutField(rest); !isKeyType(next) {
		if err := s.setOptions(next, signerOptions); err != nil {
			return nil, err
		}
		rest = after
	}
	s.key, err = parseKey(rest)
	return s, err
}

// cutField splits text after its first field. White space within double quotes does not
// end a field.
func cutField(text string) (field, rest string) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == '"':
			i++
		case text[i] == '"':
			quoted = !quoted
		case !quoted && (text[i] == ' ' || text[i] == '\t'):
			return text[:i], strings.TrimLeft(text[i:], " \t")
		}
	}
	return text, ""
}

// cutPrincipals splits a line after its principals, which may stand in double quotes.
func cutPrincipals(line string) (principals, rest string, err error) {
	if unquoted, ok := strings.CutPrefix(line, `"`); ok {
		principals, rest, ok = strings.Cut(unquoted, `"`)
		if !ok {
			return "", "", errors.New("the principals have no closing quote")
		}
	} else {
		end := strings.IndexAny(line, " \t")
		if end < 0 {
			return "", "", errNotKey
		}
		principals, rest = line[:end], line[end:]
	}
	if principals == "" {
		return "", "", errors.New("the principals must not be empty")
	}
	return principals, strings.TrimLeft(rest, " \t"), nil
}

var errNotKey = errors.New("a line must be an SSH key, a comment or part of a PGP block")

func isKeyType(field string) bool {
	for _, prefix := range []string{"ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-", "rsa-sha2-"} {
		if strings.HasPrefix(field, prefix) {
			return true
		}
	}
	return false
}

// parseKey parses a type, a key in base64 and a comment.
func parseKey(text string) (ssh.PublicKey, error) {
	kind, rest := cutField(text)
	encoded, _ := cutField(rest)
	if !isKeyType(kind) {
		return nil, errNotKey
	}
	blob, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, errors.New("invalid SSH key: not base64")
	}
	key, err := ssh.ParsePublicKey(blob)
	switch {
	case err != nil:
		return nil, fmt.Errorf("invalid SSH key: %w", err)
	case key.Type() != kind:
		return nil, fmt.Errorf("invalid SSH key: its type must be %s, not %s", key.Type(), kind)
	}
	if _, ok := key.(*ssh.Certificate); ok {
		return nil, errors.New("a certificate must not be listed: list its key, or its authority with cert-authority")
	}
	return key, nil
}

// option sets one option of a line. The value is not nil if the option has one.
type option func(s *signer, value *string) error

// signerOptions are the options of allowed_signers, loginOptions those of authorized_keys that
// have a meaning for commits.
var (
	signerOptions = map[string]option{
		"cert-authority": func(s *signer, value *string) error {
			if value != nil {
				return errors.New("must not have a value")
			}
			s.isAuthority = true
			return nil
		},
		"namespaces": func(s *signer, value *string) error {
			if value == nil || *value == "" {
				return errNoValue
			}
			if s.namespaces != "" {
				return errRepeated
			}
			s.namespaces = *value
			return nil
		},
		"valid-after":  func(s *signer, value *string) error { return setTime(&s.after, value) },
		"valid-before": func(s *signer, value *string) error { return setTime(&s.before, value) },
	}
	loginOptions = map[string]option{
		"expiry-time": func(s *signer, value *string) error { return setTime(&s.before, value) },
	}
	errNoValue  = errors.New(`must have a value in double quotes`)
	errRepeated = errors.New("must not be repeated")
)

// otherOptions are options of authorized_keys that are rejected. One of them at the start of
// a field shows that the field is a list of options, not of principals.
var otherOptions = []string{
	"agent-forwarding", "command", "environment", "from", "no-agent-forwarding", "no-port-forwarding", "no-pty",
	"no-touch-required", "no-user-rc", "no-x11-forwarding", "permitlisten", "permitopen", "port-forwarding",
	"principals", "pty", "restrict", "tunnel", "user-rc", "verify-required", "x11-forwarding",
}

// isOptions reports whether the first field of a line is options of authorized_keys rather
// than principals.
func isOptions(field string) bool {
	if strings.HasPrefix(field, `"`) {
		return false
	}
	for _, part := range splitOptions(field) {
		name, _, hasValue := strings.Cut(strings.ToLower(part), "=")
		if hasValue || signerOptions[name] != nil || loginOptions[name] != nil || slices.Contains(otherOptions, name) {
			return true
		}
	}
	return false
}

// splitOptions splits at commas outside of double quotes.
func splitOptions(field string) []string {
	var parts []string
	quoted, begin := false, 0
	for i := 0; i < len(field); i++ {
		switch {
		case field[i] == '\\' && i+1 < len(field) && field[i+1] == '"':
			i++
		case field[i] == '"':
			quoted = !quoted
		case field[i] == ',' && !quoted:
			parts, begin = append(parts, field[begin:i]), i+1
		}
	}
	return append(parts, field[begin:])
}

// setOptions parses a comma-separated list of options. Names are not case-sensitive.
func (s *signer) setOptions(field string, known map[string]option) error {
	for _, part := range splitOptions(field) {
		name, text, hasValue := strings.Cut(part, "=")
		set := known[strings.ToLower(name)]
		if set == nil {
			return fmt.Errorf("unknown option %q", name)
		}
		var value *string
		if hasValue {
			unquoted, ok := unquote(text)
			if !ok {
				return fmt.Errorf("option %q %w", name, errNoValue)
			}
			value = &unquoted
		}
		if err := set(s, value); err != nil {
			return fmt.Errorf("option %q %w", name, err)
		}
	}
	if !s.after.IsZero() && !s.before.IsZero() && !s.before.After(s.after) {
		return errors.New("valid-before must be later than valid-after")
	}
	return nil
}

// unquote removes the quotes around a value; a quote within it is escaped by a backslash.
func unquote(text string) (string, bool) {
	inner, ok := strings.CutPrefix(text, `"`)
	if !ok {
		return "", false
	}
	inner, ok = strings.CutSuffix(inner, `"`)
	plain := strings.ReplaceAll(inner, `\"`, "")
	if !ok || strings.ContainsAny(plain, `"`) || strings.HasSuffix(plain, `\`) {
		return "", false
	}
	return strings.ReplaceAll(inner, `\"`, `"`), true
}

// setTime parses YYYYMMDD[HHMM[SS]], in UTC if a Z follows and in the local time zone
// otherwise.
func setTime(to *time.Time, value *string) error {
	if value == nil {
		return errNoValue
	}
	if !to.IsZero() {
		return errRepeated
	}
	digits, isUTC := strings.CutSuffix(strings.ToUpper(*value), "Z")
	zone := time.Local
	if isUTC {
		zone = time.UTC
	}
	for _, layout := range []string{"20060102", "200601021504", "20060102150405"} {
		if len(digits) != len(layout) {
			continue
		}
		t, err := time.ParseInLocation(layout, digits, zone)
		if err != nil || t.Unix() <= 0 {
			break
		}
		*to = t
		return nil
	}
	return fmt.Errorf("must be a time YYYYMMDD[Z] or YYYYMMDDHHMM[SS][Z], not %q", *value)
}

// parseRevoked parses a file of SSH keys without options, one a line.
func parseRevoked(content []byte) ([]ssh.PublicKey, error) {
	if bytes.HasPrefix(content, []byte("SSHKRL\n")) {
		return nil, errors.New("a binary revocation list is not supported: list the public keys")
	}
	var keys []ssh.PublicKey
	number := 0
	for line := range strings.Lines(string(content)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, err := parseKey(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}
