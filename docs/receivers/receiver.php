<?php
// Verify a webhook, without dependencies. The names of headers are in lower case.

function receive(string $secret, string $body, array $headers): array
{
    $signed = "{$headers['webhook-id']}.{$headers['webhook-timestamp']}.$body";
    $key = base64_decode(substr($secret, strlen('whsec_')));
    $wanted = 'v1,' . base64_encode(hash_hmac('sha256', $signed, $key, true));
    $isRecent = abs(time() - (int) $headers['webhook-timestamp']) < 300;
    foreach (explode(' ', $headers['webhook-signature']) as $one) {
        if ($isRecent && hash_equals($wanted, $one)) {
            return json_decode($body, true);
        }
    }
    throw new Exception('not from the newsroom, or too old');
}
