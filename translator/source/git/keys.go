package git

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ProtonMail/go-crypto/openpgp"
	"golang.org/x/crypto/ssh"
)

// KeyFiles are the paths of the files of Keys. Allowed is required.
type KeyFiles struct {
	// Allowed has armored PGP blocks, and SSH keys in the lines of allowed_signers or
	// authorized_keys.
	Allowed string
	// Revoked has SSH keys, one a line, that must not have signed a commit, nor the
	// certificate that did. Empty means none.
	Revoked string
}

// Keys are the allowed signers of commits, as of the last valid version of their files. They
// are safe for concurrent use.
type Keys struct {
	files KeyFiles

	mu      sync.Mutex // held to read the files
	content [2][]byte  // of Allowed and Revoked
	set     atomic.Pointer[keySet]
}

// keySet is immutable.
type keySet struct {
	pgp     openpgp.EntityList
	ssh     []*signer
	revoked []ssh.PublicKey
}

// ReadKeys reads the files. Comments and empty lines are skipped. It returns an error with
// the line if a file cannot be read, has another line, or has an option or a marker that is
// not understood, and an error if Allowed has no key.
func ReadKeys(files KeyFiles) (*Keys, error) {
	k := &Keys{files: files}
	if _, err := k.Reload(); err != nil {
		return nil, err
	}
	return k, nil
}

// Reload reads the files again and reports whether their content changed. It returns an error
// if a file cannot be read or parsed; the keys then stay as they were. Commits that were read
// before are not verified again.
func (k *Keys) Reload() (changed bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var content [2][]byte
	if content[0], err = os.ReadFile(k.files.Allowed); err != nil {
		return false, fmt.Errorf("read the commit keys: %w", err)
	}
	if k.files.Revoked != "" {
		if content[1], err = os.ReadFile(k.files.Revoked); err != nil {
			return false, fmt.Errorf("read the revoked commit keys: %w", err)
		}
	}
	if k.set.Load() != nil && bytes.Equal(content[0], k.content[0]) && bytes.Equal(content[1], k.content[1]) {
		return false, nil
	}
	set, err := parseKeySet(string(content[0]))
	if err != nil {
		return false, fmt.Errorf("read the commit keys: %s: %w", k.files.Allowed, err)
	}
	if set.revoked, err = parseRevoked(content[1]); err != nil {
		return false, fmt.Errorf("read the revoked commit keys: %s: %w", k.files.Revoked, err)
	}
	k.content = content
	k.set.Store(set)
	return true, nil
}

const (
	pgpBegin = "-----BEGIN PGP PUBLIC KEY BLOCK-----"
	pgpEnd   = "-----END PGP PUBLIC KEY BLOCK-----"
)

func parseKeySet(text string) (*keySet, error) {
	keys := &keySet{}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		var err error
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			continue
		case line == pgpBegin:
			begin := i
			for i < len(lines)-1 && strings.TrimSpace(lines[i]) != pgpEnd {
				i++
			}
			if err = keys.addPGP(strings.Join(lines[begin:i+1], "\n")); err != nil {
				i = begin
			}
		default:
			var added *signer
			added, err = parseSigner(line)
			keys.ssh = append(keys.ssh, added)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	if len(keys.pgp)+len(keys.ssh) == 0 {
		return nil, errors.New("the file has no key")
	}
	return keys, nil
}

func (k *keySet) addPGP(block string) error {
	if !strings.Contains(block, pgpEnd) {
		return errors.New("a PGP block has no end")
	}
	entities, err := openpgp.ReadArmoredKeyRing(strings.NewReader(block))
	if err != nil {
		return fmt.Errorf("invalid PGP block: %w", err)
	}
	k.pgp = append(k.pgp, entities...)
	return nil
}
