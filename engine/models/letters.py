"""Figures of the token estimate: what letters add to the cost of a word.

They were fitted by least squares (cost = 1 + max(0, sum of the parts)) to the token counts of the o200k vocabulary, on
the common words of 26 Latin-script languages (English weighing about a quarter), of Russian, Ukrainian, Bulgarian and
Macedonian, of Greek, Hebrew, Arabic, Persian, Urdu and Hindi, on the words of one formal document in 40 languages, and
on the names in program sources; some in title case, in capitals, behind punctuation, and some random letters. They
hold rates, not vocabulary.

A rate that stands in a string is one character of `decode`: "P" is 0, each following letter 0.05 more.
"""

from __future__ import annotations


def decode(char: str) -> float:
    """The rate one character of a string in this module stands for."""
    return (ord(char) - ord("P")) * 0.05


# One row a letter, `^` for the start of a word and `*` for any letter outside a-z; one column for each letter that may
# follow: a-z, `*` and the end of the word. Accented letters count as their base letter here.
PAIRS: dict[str, str] = {
    "^": "UTTSUUUVUUVUVUVTZUUUWWR[UW]P",
    "a": "QMKMWONRNOPLOLRMRLNMNPRNMPPV",
    "b": "OSTQNWVYOHRJUROXWNLRORXXRXZW",
    "c": "MVNSNV]LNPLITLLPULXLNVXXRPRW",
    "d": "PVOSNXIXNTSQPQQUROPVOTTPRRPQ",
    "e": "MNLMMLOPNOSOPMONSKMOONMHQRTS",
    "f": "LTVWOLNVKXUKQULVVLQMMWXVRZNV",
    "g": "PSWTMQOLNSPMPNOW]MPQOV[[TWQU",
    "h": "NPYQNTVXMRRRSLLZTOTNPSTXSRSS",
    "i": "ONIKNMNSSLQMPMJKQOOMVKYNVMTY",
    "j": "QMXSPVUNSYCSVSPYYYSZPRNW]VMZ",
    "k": "PUTONTPPOUPQXMQQYSONRWRVUPUU",
    "l": "OOQMMGOOMORMRSNKQNNNPOSWL^ST",
    "m": "LJUTJUOXLYTSLPKH]VMSMZVZUYQT",
    "n": "OVKKONNOOPQQQONOVRLKQMPYUQPV",
    "o": "OOMMOKNVPRQNOKKMZKPPJOLILRRW",
    "p": "OWQPMTVMRTWKOTNKJKPNOR[STXRV",
    "q": "URWVXZ[TXZYVUYXVQOYUGYUUYX]Z",
    "r": "NRNOLQKSOROPNLLQUPLMQQNZQSQT",
    "s": "PULRMLRLNUSQTPMKVRKKPTM]MSTQ",
    "t": "NTNQMPVHLWOPQUNOVKNNOVJUOPST",
    "u": "NNMPINNWMQPMNMQLYMPLTSQJPQ]Y",
    "v": "OWVWLSVYMUWNXRMWXSSZSWIXTTJZ",
    "w": "NYWSNTZJMYSPUJMV[OMUTXMOUWPS",
    "x": "PTNVSVYTOW]ZMYVRWUXPSS]NKRPV",
    "y": "OSNXSYWXSWVRRPNKYUMNRUKYUMQP",
    "z": "PWQQNTVTPXVTXPPUXVXTRVQTQOSX",
    "*": "MXRVRTOPSSQOSOPVZPRSPWTPUTOY",
}

# What a letter outside a-z adds to its word.
ACCENTS: dict[float, str] = {
    -0.7: "ã",
    -0.5: "ß",
    -0.2: "þđıềờ",
    -0.1: "ưə\u0307ữ",
    0.0: "ñœṭẽểởỵỷỹ",
    0.1: "çðŕƴẵếệớợ",
    0.2: "äüĉğĵĺşŭżžẩằịổộỳ",
    0.3: "íøýħĩłśųɓảẫẻễỉọỏỗửự",
    0.4: "èéöùźầẳốồủứừ",
    0.5: "àáåóôõúąčšũůṣạấậặụ",
    0.6: "æêëïćċęěķľńřƙỡ",
    0.7: "âăġņňơɗ\u02bbắ",
    0.8: "ìòûāēģīļūűțẹ",
    0.9: "îďőŝș",
    1.0: "įť",
    1.1: "ėĝ\u02bc",
}

# What the last three letters add to a word of five letters or more.
ENDINGS: dict[float, str] = {
    -0.8: "ion",
    -0.7: "ary ity nal ult",
    -0.6: "ess ing nce ure urn",
    -0.5: "ado age cia ect ent ght ial ory tal ted tor ual",
    -0.4: "ace all ber ble cal dos ive ken lly ned ngs nto nts nya ort ral tly",
    -0.3: "ade ain ard ate ces ded ely ers gen hen ies int ito ndo nst nte ons out ray ria ung",
    -0.2: (
        "ada ame ant den der gan ges her hts ian ine ise ite kan led len men "
        "nda nen ose ple red res ror sed ses tem ter tes tos und ved ver ves"
    ),
    -0.1: "aan ego est ica ich ide lar les lla ner nes nge one per ten",
    0.1: "ler nta rte tan",
    0.2: "are ato ere nde ste tas",
    0.3: "nie",
    0.4: "ele",
}

# Letter rates of other alphabets: the first code point, and one character for it and each that follows it.
LETTERS: dict[int, str] = {
    0x0430: "UVUWURTUTUUUUTRTTTSWVVWTZWfTP[VT[]lm`]]ZcigccY`a",
    0x03AC: "Y[ZZcU_[]V]V_TX[XVbUTWT]UV]Ve[[`Y]]",
    0x05D0: "WX]WWX]Y]XU[XSYYY]X_Z`[]WYW]]]]]h}k",
    0x0621: "XXVZTZSXRWWWWVVWVYWYW[WYU[^^^^^^YWXSWVYW^Ub^^^`bj^",
    0x0901: "aWnaX]_^Ui_aaa[^]aRlW`^en_W]`]]bbka^]^Y]a]d_c[[V^]`a[]XZ[aa[}UVZ][daaaX`]aWjN",
}
