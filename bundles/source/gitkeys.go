package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// GitKeys are the keys one of which must have signed a commit.
type GitKeys struct {
	pgp openpgp.EntityList
	ssh []ssh.PublicKey
}

const pgpBlock = "-----BEGIN PGP PUBLIC KEY BLOCK-----"

// ParseGitKeys reads allowed keys: armoured PGP blocks, and SSH keys a line as in
// authorized_keys or allowed_signers. Comments and empty lines are skipped; a line
// that is neither, and a file without a key, are errors.
func ParseGitKeys(text []byte) (*GitKeys, error) {
	keys := &GitKeys{}
	for rest := string(text); ; {
		before, block, found := strings.Cut(rest, pgpBlock)
		if err := keys.addSSH(before); err != nil {
			return nil, err
		}
		if !found {
			break
		}
		const end = "-----END PGP PUBLIC KEY BLOCK-----"
		body, after, closed := strings.Cut(block, end)
		if !closed {
			return nil, errors.New("a PGP block has no end")
		}
		entities, err := openpgp.ReadArmoredKeyRing(strings.NewReader(pgpBlock + body + end))
		if err != nil {
			return nil, fmt.Errorf("read a PGP block: %w", err)
		}
		keys.pgp = append(keys.pgp, entities...)
		rest = after
	}
	if len(keys.pgp)+len(keys.ssh) == 0 {
		return nil, errors.New("there is no key")
	}
	return keys, nil
}

func (k *GitKeys) addSSH(text string) error {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
		if err != nil {
			// A file of allowed signers has names before the key.
			_, after, _ := strings.Cut(line, " ")
			if key, _, _, _, err = ssh.ParseAuthorizedKey([]byte(after)); err != nil {
				return errors.New("a line is no SSH key")
			}
		}
		k.ssh = append(k.ssh, key)
	}
	return nil
}

// errUnsigned and errSigner are why a commit is refused.
var (
	errUnsigned = errors.New("it is not signed, and keys are configured")
	errSigner   = errors.New("no allowed key has signed it")
)

// verify checks the signature of a commit over what git hashed.
func (k *GitKeys) verify(commit *object.Commit) error {
	if commit.PGPSignature == "" {
		return errUnsigned
	}
	content := &plumbing.MemoryObject{}
	if err := commit.EncodeWithoutSignature(content); err != nil {
		return err
	}
	reader, err := content.Reader()
	if err != nil {
		return err
	}
	signed, err := io.ReadAll(reader)
	if err != nil {
		return err
	}
	if strings.Contains(commit.PGPSignature, "BEGIN SSH SIGNATURE") {
		return k.verifySSH(signed, commit.PGPSignature)
	}
	if _, err := openpgp.CheckArmoredDetachedSignature(k.pgp, bytes.NewReader(signed), strings.NewReader(commit.PGPSignature), nil); err != nil {
		return errSigner
	}
	return nil
}

// gitNamespace is what git signs for with SSH keys.
const gitNamespace = "git"

func (k *GitKeys) verifySSH(signed []byte, armoured string) error {
	signature, err := sshsig.Unarmor([]byte(armoured))
	if err != nil {
		return errSigner
	}
	for _, key := range k.ssh {
		if sshsig.Verify(bytes.NewReader(signed), signature, key, signature.HashAlgorithm, gitNamespace) == nil {
			return nil
		}
	}
	return errSigner
}
