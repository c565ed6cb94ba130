package auth

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/writ-policy/writ/internal/limits"
)

// maxTokens is how large a token file may be.
const maxTokens = 16 << 20

// Tokens authenticates bearer tokens by a file of lines
//
//	TOKEN,USER,UID,"GROUP1,GROUP2"
//
// of which the groups may be left out. Only hashes of tokens are kept, and a token is
// looked up by its hash: the time that takes does not depend on how much of the token
// is right. It is safe for concurrent use.
type Tokens struct {
	path string

	mu      sync.Mutex // held to read the file
	content [sha256.Size]byte
	callers atomic.Pointer[map[[sha256.Size]byte]*Caller]
}

var _ Authenticator = (*Tokens)(nil)

// ReadTokens reads the file at path. It returns an error with the line if the file cannot
// be read or is malformed.
func ReadTokens(path string) (*Tokens, error) {
	t := &Tokens{path: path}
	if _, err := t.Reload(); err != nil {
		return nil, err
	}
	return t, nil
}

// Reload reads the file again and reports whether it changed. After an error the tokens
// are those of the last file that was valid. A file whose last token is gone is an error: it
// is rather one that is being written, or a disk that is full, than a withdrawal of all tokens.
func (t *Tokens) Reload() (changed bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	content, err := limits.ReadFile(t.path, maxTokens)
	if err != nil {
		return false, fmt.Errorf("read tokens: %w", err)
	}
	hash := sha256.Sum256(content)
	if t.callers.Load() != nil && hash == t.content {
		return false, nil
	}
	callers, err := parseTokens(content)
	if err != nil {
		return false, fmt.Errorf("read tokens: %s: %w", t.path, err)
	}
	if before := t.callers.Load(); before != nil && len(*before) > 0 && len(callers) == 0 {
		return false, fmt.Errorf("read tokens: %s: the file has no token any more", t.path)
	}
	t.content = hash
	t.callers.Store(&callers)
	return true, nil
}

// Authenticate returns the caller of the bearer token of a request. It returns an error
// if the token is unknown.
func (t *Tokens) Authenticate(_ context.Context, c Credentials) (*Caller, error) {
	token, err := bearer(c.Authorization)
	if token == "" {
		return nil, err
	}
	caller := (*t.callers.Load())[sha256.Sum256([]byte(token))]
	if caller == nil {
		return nil, errForeign
	}
	return caller, nil
}

// parseTokens names lines in its errors and never what stands in them.
func parseTokens(content []byte) (map[[sha256.Size]byte]*Caller, error) {
	reader := csv.NewReader(bytes.NewReader(content))
	reader.FieldsPerRecord = -1
	callers := map[[sha256.Size]byte]*Caller{}
	for {
		fields, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return callers, nil
		}
		if err != nil {
			return nil, err
		}
		line, _ := reader.FieldPos(0)
		caller, err := parseCaller(fields)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		hash := sha256.Sum256([]byte(fields[0]))
		if callers[hash] != nil {
			return nil, fmt.Errorf("line %d: the token stands on an earlier line too", line)
		}
		callers[hash] = caller
	}
}

func parseCaller(fields []string) (*Caller, error) {
	switch {
	case len(fields) < 3 || len(fields) > 4:
		return nil, fmt.Errorf("there are %d fields; want token, user, uid and, in quotes, groups", len(fields))
	case fields[0] == "" || strings.TrimSpace(fields[0]) != fields[0]:
		return nil, errors.New("the token is empty or has blanks around it")
	case fields[1] == "":
		return nil, errors.New("the user is empty")
	}
	caller := &Caller{Name: fields[1], UID: fields[2]}
	if len(fields) == 4 && fields[3] != "" {
		for group := range strings.SplitSeq(fields[3], ",") {
			if group == "" {
				return nil, errors.New("a group is empty")
			}
			caller.Groups = append(caller.Groups, group)
		}
	}
	return caller, nil
}
